"""What is protected: said by status and topo, and never written."""

import json
from pathlib import Path

import pytest
from cli.in_process import Pcietune
from trees.config import ENDPOINT, ConfigBuilder
from trees.function import Function, root_port
from trees.host import TreeHost
from trees.machines import one_switch

GPU, NIC_PORT, NIC, DRIVE = "0000:23:00.0", "0000:22:04.0", "0000:24:00.0", "0000:24:00.4"
VM = ("--profile", "gpu-rdma", "--mode", "vm")
CARRIES = "carries / and swap"


@pytest.fixture
def tree(tmp_path: Path) -> TreeHost:
    """Return a recorded host whose boot disk is below the NIC's port."""
    host = one_switch(tmp_path)
    config = ConfigBuilder("144d:a80a", 0x010802).express(ENDPOINT)
    host.add(Function(DRIVE, config, below=NIC_PORT))
    use = {"disks": {DRIVE: ["/", "swap"]}, "interfaces": {"eno1": [NIC]}}
    recorded(host, use)
    return host


def recorded(host: TreeHost, use: object) -> None:
    """Have a recorded host tell what it used its functions for."""
    manifest = {"format": "pcietune host archive", "version": 1, "use": use}
    host.put("manifest.json", json.dumps(manifest))


@pytest.mark.parametrize("options", [VM, VM[:2]], ids=["with a mode", "without a mode"])
def test_status_says_what_is_protected_and_why(
    pcietune: Pcietune, tree: TreeHost, options: tuple[str, ...]
) -> None:
    run = pcietune("status", "--from", tree.root, *options)

    assert f"protect  {DRIVE}: {CARRIES}" in run.stdout.splitlines()


def test_status_of_a_recording_that_does_not_tell_says_so(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    one_switch(tmp_path)

    run = pcietune("status", "--from", tmp_path, *VM)

    sentence = "which functions carry disks of the host and its default route: not recorded"
    assert f"protect  not known: {sentence}" in run.stdout.splitlines()
    as_json = pcietune("status", "--from", tmp_path, *VM, "--json").document().protected
    assert as_json is not None
    assert (as_json.functions, as_json.not_known) == ({}, [sentence])


def test_topo_shows_what_is_protected_though_it_has_no_role(
    pcietune: Pcietune, tree: TreeHost
) -> None:
    run = pcietune("topo", "--from", tree.root, *VM[:2])

    (line,) = (line for line in run.stdout.splitlines() if DRIVE in line)
    assert line.endswith(f"PROTECTED: {CARRIES}")
    text = pcietune("topo", "--from", tree.root, *VM[:2], "--json").stdout
    assert f'"protected": "{CARRIES}"' in text


def test_topo_shows_what_is_protected_elsewhere_only_if_all_is_asked_for(
    pcietune: Pcietune, tree: TreeHost
) -> None:
    config = ConfigBuilder("144d:a80a", 0x010802).express(ENDPOINT)
    tree.add(root_port("0000:40:01.0"), Function("0000:41:00.0", config, below="0000:40:01.0"))
    tree.add(Function("0000:00:02.0", config))
    recorded(tree, {"disks": {"0000:41:00.0": ["/"], "0000:00:02.0": ["/boot"]}})
    topo = ("topo", "--from", tree.root, *VM[:2])

    assert "PROTECTED" not in pcietune(*topo).stdout
    assert pcietune(*topo, "--all").stdout.count("PROTECTED") == 2


def test_apply_refuses_the_port_above_it_and_says_so(pcietune: Pcietune, tree: TreeHost) -> None:
    before = tree.config(NIC_PORT).read_bytes()

    run = pcietune("apply", "--from", tree.root, "--in-place", *VM, "--json")

    document = run.document()
    assert (run.exit_code, document.writes, document.changed) == (3, [], False)
    refusals = {left.reason for left in document.residual if left.address == NIC_PORT}
    assert f"{DRIVE} is protected: {CARRIES}" in refusals
    assert document.protected is not None
    assert document.protected.functions == {DRIVE: CARRIES}
    assert tree.config(NIC_PORT).read_bytes() == before


def test_what_the_settings_protect_is_not_tuned(pcietune: Pcietune, tree: TreeHost) -> None:
    recorded(tree, {"interfaces": {"eno1": [NIC]}})
    tuned = pcietune("plan", "--from", tree.root, *VM, "--json").document()
    tree.put(
        "etc/pcietune/pcietune.yaml",
        "protect: [{netdev: eno1, reason: of storage}, {netdev: eno2}]",
    )

    kept = pcietune("plan", "--from", tree.root, *VM, "--json")

    assert [write.address for write in tuned.writes] == [NIC_PORT]
    assert (kept.exit_code, kept.document().writes) == (0, [])
    told = kept.finding("protect.left-out", NIC)
    assert (told.severity, told.state) == ("info", "fail")
    assert kept.finding("protect.unused", "protect netdev eno2").severity == "info"


def test_nobody_is_told_to_hand_what_is_protected_to_vfio(
    pcietune: Pcietune, tree: TreeHost
) -> None:
    mode = ("mode", "vm", "--from", tree.root, "--profile", "gpu-rdma")
    assert f"pcietune vfio bind {GPU} {NIC}" in pcietune(*mode).stdout
    tree.put("etc/pcietune/pcietune.yaml", f"protect: [{{address: '{NIC}'}}]")

    assert "pcietune vfio bind" not in pcietune(*mode).stdout  # nor is a switch group left


def test_a_setting_that_cannot_be_used_is_refused_at_its_place(
    pcietune: Pcietune, tree: TreeHost
) -> None:
    tree.put("etc/pcietune/pcietune.yaml", "protect:\n- reason: all of it")

    run = pcietune("plan", "--from", tree.root, *VM)

    assert run.exit_code == 4
    assert "pcietune.yaml:2:3: an entry has one of location, address, slot" in run.stderr
