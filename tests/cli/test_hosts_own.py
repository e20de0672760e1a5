"""What the host itself uses stays its own at boot, when no bond and no route shows it yet."""

import json
from pathlib import Path

import pytest
from cli.in_process import Pcietune
from trees import uses
from trees.host import TreeHost
from trees.machines import one_switch
from tune.judged import surveyed
from tune.profiles import PROFILE

from pcietune.cli.hosts_own import hosts_own
from pcietune.host.host_files import HostFiles
from pcietune.host.run.hosts_own import read_hosts_own
from pcietune.host.sysfs import SysfsHost
from pcietune.model.profile import ModeName
from pcietune.model.role_name import RoleName
from pcietune.model.vfio import VfioPolicy
from pcietune.model.yardstick import Yardstick
from pcietune.tune.audit.audit import Audit, audit

GPU, NIC = "0000:23:00.0", "0000:24:00.0"
NIC_LOCATION = "0000:20:01.0/00.0/04.0/00.0"
KEPT = "etc/pcietune/hosts-own"
UNATTENDED = ("apply", "--unattended", "--profile", "gpu-rdma", "--in-place", "--from")


@pytest.fixture
def tree(tmp_path: Path) -> TreeHost:
    host = one_switch(tmp_path)
    host.put("etc/pcietune/pcietune.yaml", "{mode: vm, enforce: apply, vfio: {bind: [gpu, nic]}}")
    for address in (GPU, NIC):
        (host.directory(address) / "driver_override").write_text("(null)\n")
    return host


def live(tree: TreeHost) -> tuple[SysfsHost, Audit]:
    """Return the tree as a live host, and judged."""
    host = SysfsHost(HostFiles(tree.root, recorded=False))
    policy = VfioPolicy((RoleName.GPU, RoleName.NIC))
    yardstick = Yardstick(PROFILE, ModeName.VM, vfio=policy)
    return host, audit(host, surveyed(host), yardstick)


def test_what_a_typed_run_sees_the_host_use_is_kept_by_location_and_id(tmp_path: Path) -> None:
    tree = one_switch(tmp_path, driver="mlx5_core")
    uses.mounts(tree, "0:21 /proc proc proc")
    uses.interface(tree, "ens1", of=NIC)
    tree.put("sys/class/net/ens1/ifindex", "987654")  # none of the machine that this runs on
    uses.stacked_interface(tree, "bond0", "ens1")
    tree.put("sys/class/net/bond0/uevent", "DEVTYPE=bond\nINTERFACE=bond0")
    path = tree.directory(NIC).relative_to(tree.root.resolve())
    tree.link(f"{path}/net/ens1/upper_bond0", "sys/devices/virtual/net/bond0")
    tree.put("etc/pcietune/pcietune.yaml", "mode: vm")
    host, audited = live(tree)

    found = hosts_own(host, audited, unattended=False)

    assert found == {(NIC_LOCATION, "15b3:101b"): "has ens1, which is part of bond0"}
    assert read_hosts_own(host.files) == found


def test_what_is_free_again_is_forgotten_by_the_next_typed_run(tree: TreeHost) -> None:
    tree.put(KEPT, f"{NIC_LOCATION} 15b3:101b is a member of bond0")
    host, audited = live(tree)

    assert hosts_own(host, audited, unattended=False) == {}
    assert not (tree.root / KEPT).exists()


def test_an_unattended_run_believes_what_was_kept_and_changes_nothing_of_it(
    tree: TreeHost,
) -> None:
    tree.put(KEPT, f"{NIC_LOCATION} 15b3:101b is a member of bond0")
    host, audited = live(tree)

    found = hosts_own(host, audited, unattended=True)

    assert found == {(NIC_LOCATION, "15b3:101b"): "is a member of bond0"}
    assert (tree.root / KEPT).exists()


def test_at_boot_neither_gate_nor_hook_nor_initramfs_gives_it_to_vfio(
    pcietune: Pcietune, tree: TreeHost
) -> None:
    tree.put(KEPT, f"{NIC_LOCATION} 15b3:101b is a member of bond0")

    run = pcietune(*UNATTENDED, tree.root, "--json")

    early = (tree.root / "etc/pcietune/early-overrides").read_text()
    policy = json.loads((tree.root / "run/pcietune/policy.json").read_text())
    overrides = {duty["location"]: duty["override"] for duty in policy["functions"]}
    bindings = {each["address"]: each for each in json.loads(run.stdout)["bindings"]}
    assert NIC_LOCATION not in early
    assert "10de:" in early
    assert overrides[NIC_LOCATION] is None
    assert "vfio-pci" in overrides.values()
    assert bindings[NIC]["state"] == "blocked"
    assert "is a member of bond0" in json.dumps(bindings[NIC])
    assert bindings[GPU]["state"] == "ready"


def test_another_card_in_its_place_is_not_taken_for_it(pcietune: Pcietune, tree: TreeHost) -> None:
    tree.put(KEPT, f"{NIC_LOCATION} 15b3:1017 is a member of bond0")

    pcietune(*UNATTENDED, tree.root)

    assert NIC_LOCATION in (tree.root / "etc/pcietune/early-overrides").read_text()
