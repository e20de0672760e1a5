"""``pcietune paths --isolation``, and what ``paths`` says of transports and inside of a VM."""

from pathlib import Path

import msgspec
import pytest
from cli.in_process import Pcietune
from trees.dump import dump, one_switch_functions
from trees.function import downstream_port
from trees.groups import into_group
from trees.host import TreeHost
from trees.machines import one_switch
from tune.faults import all_ones, set_word
from tune.judged import GPU, GPU_PORT, NIC, NIC_PORT

from pcietune.report.paths_document import PathsDocument
from pcietune.report.paths_isolation import IsolationDocument

LIE = (
    "only by a lie, requests marked as translated that no IOMMU ever saw, do these reach others; "
    "where their ATS is on, the root complex believes them, too, about all of the host's memory"
)


def _without_acs(root: Path) -> TreeHost:
    """Return a switch without ACS, whose functions Linux before 6.17 puts into their own groups."""
    ports = [downstream_port(port, below="0000:21:00.0", acs=None) for port in (NIC_PORT, GPU_PORT)]
    tree = one_switch(root, instead=ports)
    into_group(tree, GPU, 2)
    into_group(tree, NIC, 3)
    return tree


def test_ports_without_acs_contradict_the_kernels_groups(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    run = pcietune("paths", "--isolation", "--from", _without_acs(tmp_path).root)

    assert run.exit_code == 0
    assert run.stdout.splitlines()[:4] == [
        (
            f"NOT APART  {GPU_PORT}, {NIC_PORT}: no ACS capability; their IOMMU groups say that "
            "they are apart"
        ),
        f"    {GPU}  10de:20f3  3D controller  group 2",
        f"    {NIC}  15b3:101b  Infiniband controller  group 3",
        "  reach each other",
    ]


def test_what_the_override_claims_is_called_out(pcietune: Pcietune, tmp_path: Path) -> None:
    tree = _without_acs(tmp_path)
    tree.put("proc/cmdline", "ro pcie_acs_override=downstream,multifunction")
    run = pcietune("paths", "--isolation", "--from", tree.root)

    assert run.stdout.startswith("NOT as it seems: pcie_acs_override=downstream,multifunction")


def test_who_needs_a_lie_is_told_apart_and_trusted_by_the_profile(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    tree = one_switch(tmp_path)
    set_word(tree, NIC_PORT, 0x005D)
    run = pcietune("paths", "--isolation", "--from", tree.root)

    lines = run.stdout.splitlines()
    assert lines[0] == LIE
    assert lines[3].split() == f"{NIC} 15b3:101b Infiniband controller group 5 trusted".split()
    assert "NOT APART" not in run.stdout


def test_the_settings_say_whether_tenants_share_switches(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    tree = one_switch(tmp_path)
    set_word(tree, NIC_PORT, 0x005D)
    tree.put("etc/pcietune/pcietune.yaml", "tenancy: shared")
    run = pcietune("paths", "--isolation", "--json", "--from", tree.root)

    document = msgspec.json.decode(run.stdout, type=IsolationDocument)
    assert document.tenancy == "shared"
    assert [sender.trusted for sender in document.lies[0].senders] == [True]


def test_what_cannot_be_read_is_not_known_and_exits_6(pcietune: Pcietune, tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    all_ones(tree, NIC_PORT)
    run = pcietune("paths", "--isolation", "--from", tree.root)

    assert run.exit_code == 6
    assert f"not known  {NIC_PORT}: ACS could not be read" in run.stdout
    assert "whether all of them are apart is not known" in run.stdout


def test_a_pair_is_told_by_what_its_data_goes(pcietune: Pcietune, tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    run = pcietune("paths", "NIC0", "GPU0", "--mode", "vm", "--from", tree.root)

    assert "transport  GPUDirect RDMA: about half of the narrowest link" in run.stdout
    run = pcietune("paths", "--mode", "vm", "--json", "--from", tree.root)
    document = msgspec.json.decode(run.stdout, type=PathsDocument)
    (found,) = document.pairs
    assert found.transport is not None
    assert found.transport.means == "GPUDirect RDMA"
    assert document.guest is None


def test_a_vm_is_told_what_it_cannot_see(pcietune: Pcietune, tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    tree.put("sys/devices/virtual/dmi/id/sys_vendor", "QEMU")
    run = pcietune("paths", "--from", tree.root)

    assert "note  this is a VM (its firmware says QEMU GPU Server 8)" in run.stdout
    document = msgspec.json.decode(
        pcietune("paths", "--json", "--from", tree.root).stdout, type=PathsDocument
    )
    assert document.guest


@pytest.mark.parametrize(
    ("cmdline", "iommu"), [("ro quiet", None), ("ro iommu=pt", None), ("ro intel_iommu=off", False)]
)
def test_a_dump_without_groups_is_never_said_to_go_through_an_iommu(
    pcietune: Pcietune, tmp_path: Path, cmdline: str, *, iommu: bool | None
) -> None:
    (tmp_path / "dump.txt").write_text(dump(one_switch_functions()))
    (tmp_path / "cmdline").write_text(f"BOOT_IMAGE=/vmlinuz root=/dev/sda1 {cmdline}\n")
    names = ("--from", tmp_path / "dump.txt", "--from", tmp_path / "cmdline")
    run = pcietune("paths", "--isolation", "--json", *names)
    document = msgspec.json.decode(run.stdout, type=IsolationDocument)

    assert document.iommu is iommu
    assert set(document.untranslated) == {"not known" if iommu is None else "no IOMMU"}
    told = "is not known" if iommu is None else "not all of them are apart"
    assert document.summary.endswith(told)
