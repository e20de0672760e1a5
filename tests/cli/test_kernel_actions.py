"""What apply does beside ACS, on recorded hosts: power/control, forced ATS, and what it cannot."""

from dataclasses import replace
from pathlib import Path

import pytest
from cli.in_process import Pcietune
from trees.function import nic, root_port
from trees.host import TreeHost
from trees.machines import one_switch
from tune.live_kernel import ats_control

NIC, NIC_PORT, ROOT_PORT = "0000:24:00.0", "0000:22:04.0", "0000:20:01.0"
NIC_GROUP = 5
PROFILE = """\
version: 1
summary: what these tests ask for
match: {ids: ["10de:20f3"]}
roles:
  gpu: {ids: ["10de:20f3"], trusted: true}
  nic: {ids: ["15b3:101b"], place: gpu-switch, trusted: true}
modes:
  vm:
    ports:
      nic-side: {set: [DirectTrans+]}
    ats: ATS
    runtime-pm: keep-on
"""


@pytest.fixture
def host(tmp_path: Path) -> TreeHost:
    """Return a host whose NIC is idle under a translating domain, with its ATS off."""
    parts = [
        replace(root_port(ROOT_PORT), attributes={"power/control": "auto"}),
        nic(NIC, below=NIC_PORT, ats=(0x0020, 0x0005)),
    ]
    host = one_switch(tmp_path, instead=parts)
    host.put("etc/pcietune/pcietune.yaml", "profile: asked\nmode: vm")
    return wanting(host, "ensure")


def wanting(host: TreeHost, ats: str) -> TreeHost:
    host.put("etc/pcietune/profiles.d/asked.yaml", PROFILE.replace("ATS", ats))
    return host


def power(host: TreeHost) -> str:
    return (host.directory(ROOT_PORT) / "power/control").read_text()


def ats(host: TreeHost) -> int:
    at = ats_control(host, NIC)
    assert at is not None
    return int.from_bytes(host.config(NIC).read_bytes()[at : at + 2], "little")


def in_place(host: TreeHost) -> tuple[str | Path, ...]:
    return ("--from", host.root, "--in-place", "--json")


def test_ports_are_kept_awake_and_let_sleep_again(pcietune: Pcietune, host: TreeHost) -> None:
    applied = pcietune("apply", *in_place(host))
    awake = power(host)
    restored = pcietune("restore", *in_place(host))

    assert [write.register for write in applied.document().writes] == ["ACSCtl", "power/control"]
    assert (awake, power(host)) == ("on\n", "auto\n")
    assert [write.register for write in restored.document().writes] == ["power/control", "ACSCtl"]
    assert restored.exit_code == 0


def test_a_second_apply_has_nothing_to_write(pcietune: Pcietune, host: TreeHost) -> None:
    pcietune("apply", *in_place(host))

    again = pcietune("apply", *in_place(host))

    assert (again.document().writes, again.document().changed) == ([], False)


def test_ats_that_a_kernel_would_heal_is_residual(pcietune: Pcietune, host: TreeHost) -> None:
    run = pcietune("apply", *in_place(host))

    reasons = {left.reason for left in run.document().residual if left.address == NIC}
    assert reasons == {"a recorded host has no kernel to switch its IOMMU group's type"}
    assert (run.exit_code, ats(host)) == (3, 0x0005)  # Enable- under a translating domain


def test_ats_that_waits_for_vfio_is_no_difference(pcietune: Pcietune, host: TreeHost) -> None:
    host.group_type(NIC_GROUP, "identity")

    run = pcietune("apply", *in_place(host))

    assert run.finding("nic.ats", NIC).state == "pending"
    assert run.exit_code == 0


def test_ats_is_forced_only_if_profile_and_flag_ask_for_it(
    pcietune: Pcietune, host: TreeHost
) -> None:
    flag = pcietune("apply", *in_place(host), "--force-ats")
    wanting(host, "force")
    profile = pcietune("apply", *in_place(host))
    neither = ats(host)
    both = pcietune("apply", *in_place(host), "--force-ats")

    assert (flag.exit_code, profile.exit_code, neither) == (3, 3, 0x0005)
    assert "--force-ats" in profile.document().residual[0].reason
    assert (both.exit_code, ats(host)) == (0, 0x8005)
    assert [(w.register, w.mask) for w in both.document().writes] == [("ATSCtl", "0x8000")]


def test_a_plan_shows_what_forcing_would_write_and_its_risk(
    pcietune: Pcietune, host: TreeHost
) -> None:
    wanting(host, "force")

    run = pcietune("plan", "--from", host.root, "--force-ats")

    assert "ATSCtl at 0x112: 0x0005 -> 0x8005 (mask 0x8000, Enable+)" in run.stdout
    assert "RISK  0000:24:00.0: Enable set behind the kernel's back" in run.stdout
    assert (run.exit_code, ats(host)) == (3, 0x0005)


def test_restore_clears_what_was_forced(pcietune: Pcietune, host: TreeHost) -> None:
    wanting(host, "force")
    pcietune("apply", *in_place(host), "--force-ats")

    run = pcietune("restore", *in_place(host))

    assert (run.exit_code, ats(host)) == (0, 0x0005)


def test_under_lockdown_sysfs_attributes_are_still_written(
    pcietune: Pcietune, host: TreeHost
) -> None:
    pcietune("apply", *in_place(host))
    (host.directory(ROOT_PORT) / "power/control").write_text("auto\n")
    host.put("sys/kernel/security/lockdown", "none [integrity] confidentiality")

    run = pcietune("apply", *in_place(host))

    assert [write.register for write in run.document().writes] == ["power/control"]
    assert power(host) == "on\n"


def test_a_waived_port_is_left_asleep(pcietune: Pcietune, host: TreeHost) -> None:
    host.put(
        "etc/pcietune/pcietune.yaml",
        "profile: asked\nmode: vm\nwaivers:\n"
        "  - {id: port.runtime-pm, reason: asked for, expires: 2999-01-01}",
    )

    run = pcietune("apply", *in_place(host))

    assert [write.register for write in run.document().writes] == ["ACSCtl"]
    assert power(host) == "auto\n"
