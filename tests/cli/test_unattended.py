"""``pcietune apply``, typed and unattended: what ``enforce`` binds, and what is left for udev."""

import json
from pathlib import Path

import pytest
from cli.in_process import Pcietune, Run
from trees.host import TreeHost
from trees.machines import one_switch
from tune.faults import word

from pcietune.errors import ExitCode

NIC_PORT, NIC, GPU = "0000:22:04.0", "0000:24:00.0", "0000:23:00.0"
BY_LINUX, TUNED = 0x001D, 0x005D


class Host:
    """A recorded host with settings."""

    def __init__(self, root: Path, pcietune: Pcietune) -> None:
        self.tree: TreeHost = one_switch(root)
        self._pcietune = pcietune

    def enforcing(self, enforce: str, *more: str) -> "Host":
        lines = ["profile: gpu-rdma", "mode: vm", f"enforce: {enforce}", *more]
        self.tree.put("etc/pcietune/pcietune.yaml", "\n".join(lines))
        return self

    def apply(self, *more: str) -> Run:
        return self._pcietune("apply", "--from", self.tree.root, "--in-place", *more)

    def word(self) -> int:
        return word(self.tree, NIC_PORT)

    def policy(self) -> dict[str, object]:
        told = json.loads((self.tree.root / "run/pcietune/policy.json").read_text())
        assert isinstance(told, dict)
        return told

    def stamped(self) -> set[str]:
        return {path.name for path in (self.tree.root / "run/pcietune/stamps").iterdir()}


@pytest.fixture
def host(tmp_path: Path, pcietune: Pcietune) -> Host:
    return Host(tmp_path, pcietune)


def test_unattended_under_audit_it_writes_no_device_and_says_so(host: Host) -> None:
    run = host.enforcing("audit").apply("--unattended")

    assert run.exit_code == ExitCode.DIFFERS
    assert "nothing was written: this run is unattended, and enforce is audit" in run.stdout
    assert host.word() == BY_LINUX
    assert not (host.tree.root / "run/pcietune/undo.jsonl").exists()
    assert host.policy()["enforce"] is False
    assert host.stamped() == {GPU}


def test_unattended_under_apply_it_writes(host: Host) -> None:
    host.enforcing("apply").apply("--unattended")

    assert host.word() == TUNED
    assert host.policy()["enforce"] is True
    assert host.stamped() == {GPU, NIC}


def test_a_typed_apply_writes_whatever_enforce_says_and_the_hook_still_may_not(host: Host) -> None:
    run = host.enforcing("audit").apply()

    assert host.word() == TUNED
    assert "unattended" not in run.stdout
    assert host.policy()["enforce"] is False


def test_the_document_tells_what_was_left_for_udev(host: Host) -> None:
    document = host.enforcing("audit").apply("--unattended", "--json").document()

    assert document.unattended
    assert document.writes == []
    assert not document.changed
    assert document.hook is not None
    assert document.hook.sha256 == host.policy()["sha256"]
    assert not document.hook.enforce
    assert document.hook.stamped == [GPU]
    assert document.hook.functions == [
        "0000:20:01.0/00.0/00.0/00.0",
        "0000:20:01.0/00.0/04.0/00.0",
    ]


def test_where_pcietune_is_switched_off_nothing_is_left_for_udev(host: Host) -> None:
    host.enforcing("apply").tree.put("etc/pcietune/disabled", "")

    assert host.apply("--unattended").exit_code == ExitCode.SWITCHED_OFF
    assert not (host.tree.root / "run/pcietune/policy.json").exists()


def test_where_the_policy_cannot_be_kept_that_is_told(host: Host) -> None:
    host.enforcing("apply").tree.put("run/pcietune/ids", "something else stands here")

    run = host.apply()

    assert run.exit_code == ExitCode.NOT_PERMITTED
    assert "cannot keep the policy of the udev hook" in run.stderr
    assert host.word() == TUNED


def test_a_second_apply_leaves_the_same_behind(host: Host) -> None:
    host.enforcing("apply").apply()
    run = host.tree.root / "run/pcietune"
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}

    host.apply("--unattended")

    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before


def test_what_no_longer_is_as_wanted_loses_its_stamp(host: Host) -> None:
    host.enforcing("apply").apply()
    config = host.tree.config("0000:20:01.0")
    config.write_bytes(b"\xff" * 4096)

    host.apply("--unattended")

    assert host.stamped() == set()


def test_after_restore_no_stamp_claims_anything_and_the_hook_has_nothing_to_do(
    host: Host, pcietune: Pcietune
) -> None:
    host.enforcing("apply").apply()
    run = host.tree.root / "run/pcietune"

    pcietune("restore", "--from", host.tree.root, "--in-place")

    assert host.word() == BY_LINUX
    assert {path.name for path in run.rglob("*") if path.is_file()} == {"lock", "undo.jsonl"}


def test_udev_rules_are_narrowed_to_the_ids_of_the_host(host: Host, pcietune: Pcietune) -> None:
    host.enforcing("audit", "vfio: {bind: [gpu]}")

    run = pcietune("udev-rules", "--from", host.tree.root)

    assert run.exit_code == ExitCode.OK
    added = [line for line in run.stdout.splitlines() if line.startswith('ACTION=="add"')]
    load, judge = added
    assert 'ENV{PCI_ID}=="10DE:20F3", ' in load
    assert "kmod load vfio-pci" in load
    assert 'ENV{PCI_ID}=="10DE:20F3|15B3:101B", ' in judge


def test_narrowed_rules_load_no_driver_for_what_waits_for_a_unit(
    host: Host, pcietune: Pcietune
) -> None:
    host.enforcing("audit", "vfio: {bind: [gpu], when: 'after:nvidia-fabricmanager.service'}")

    run = pcietune("udev-rules", "--from", host.tree.root)

    assert run.exit_code == ExitCode.OK
    assert "kmod load" not in run.stdout
    assert 'RUN+="/usr/lib/pcietune/hook"' in run.stdout


def test_a_host_without_a_gpu_gets_a_file_of_rules_that_says_why_it_has_none(
    tmp_path: Path, pcietune: Pcietune
) -> None:
    run = pcietune("udev-rules", "--mode", "vm", "--from", TreeHost(tmp_path).root)

    assert run.exit_code == ExitCode.OK
    assert all(line.startswith("#") for line in run.stdout.splitlines())
    assert "nothing on this host that the hook acts on" in run.stdout


def test_without_a_mode_there_are_no_udev_rules(tmp_path: Path, pcietune: Pcietune) -> None:
    run = pcietune("udev-rules", "--profile", "gpu-rdma", "--from", one_switch(tmp_path).root)

    assert (run.exit_code, run.stdout) == (ExitCode.BAD_INPUT, "")
    assert "no mode is set" in run.stderr


def test_restore_ends_the_hook_where_apply_had_nothing_to_write_too(
    host: Host, pcietune: Pcietune
) -> None:
    host.enforcing("apply").apply()
    run = host.tree.root / "run/pcietune"
    (run / "undo.jsonl").unlink()  # as where the kernel command line had set all of it

    pcietune("restore", "--from", host.tree.root, "--in-place")

    assert {path.name for path in run.rglob("*") if path.is_file()} == {"lock"}
