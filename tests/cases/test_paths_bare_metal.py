"""Public reports on peer-to-peer without VMs: what ``paths`` says of the two."""

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from cli.in_process import Pcietune
from trees.config import ROOT_PORT, ConfigBuilder
from trees.function import Function, gpu, root_port
from trees.host import TreeHost

from pcietune.report.paths_document import PairDocument, PathsDocument

ONE, OTHER = "0000:40:03.1", "0000:60:01.1"


def _notes(pcietune: Pcietune, root: Path, control: int, node: str = "0") -> str:
    """Return what is said of two GPUs below root ports with this ACS Control."""
    far = gpu("0000:61:00.0", below=OTHER)
    far.attributes["numa_node"] = node
    ports = [root_port(port, acs=(0x005F, control)) for port in (ONE, OTHER)]
    TreeHost(root).add(ports[0], gpu("0000:41:00.0", below=ONE), ports[1], far)
    run = pcietune("paths", "GPU0", "GPU1", "--from", root)
    assert run.exit_code == 0
    return run.stdout


# NVIDIA/nccl#2079 (A01): two GPUs on an EPYC, where every GPP bridge redirects, cleared by setpci.

GPP = (
    *(f"0000:00:03.{number}" for number in (1, 2, 3, 4)),
    *(f"0000:20:01.{number}" for number in (1, 2, 3)),
    *(f"0000:22:0{number}.0" for number in (1, 2, 3)),
)
ABOVE = {"0000:00:03.1": "0000:41:00.0", "0000:20:01.1": "0000:61:00.0"}


def _epyc(root: Path, control: int, cmdline: str, *, iommu: bool = True) -> Path:
    """Return the workstation, each function of it in an IOMMU group of its own if it has IOMMUs."""
    host = TreeHost(root)
    host.put("proc/cmdline", cmdline)
    functions = [
        Function(f"0000:{bus}:00.0", ConfigBuilder("1022:1480", 0x060000))
        for bus in ("00", "20", "22")
    ]
    for port in GPP:
        bridge = ConfigBuilder("1022:1483", 0x060400).express(ROOT_PORT).acs(0x005F, control)
        functions.append(Function(port, bridge, driver="pcieport"))
        if port in ABOVE:
            functions.append(gpu(ABOVE[port], below=port))
    if iommu:
        unit = Function("0000:00:00.2", ConfigBuilder("1022:1481", 0x080600))
        host.add(unit)
        host.amd_iommu("ivhd0", below=unit.address, cap=0x4_0F80_B98B)
        functions = [replace(f, group=n, iommu="ivhd0") for n, f in enumerate(functions)]
    host.add(*functions)
    return root


def _two(pcietune: Pcietune, root: Path) -> tuple[PairDocument, str]:
    """Return the two GPUs, and what is printed about them."""
    run = pcietune("paths", "GPU0", "GPU1", "--json", "--from", root)
    (pair,) = msgspec.json.decode(run.stdout, type=PathsDocument).pairs
    return pair, pcietune("paths", "GPU0", "GPU1", "--from", root).stdout


def test_root_ports_that_redirect_are_named_with_what_lasts(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    pair, said = _two(pcietune, _epyc(tmp_path, 0x001D, "ro quiet"))

    one, other = ABOVE
    for flow in (pair.now.forth, pair.now.back):
        assert (flow.write.outcome, flow.write.iommu) == ("via root complex", True)
    assert f"ReqRedir+ at {one} and {other} sends requests between root ports through" in said
    assert f"pci=disable_acs_redir={one};{other} or config_acs=, which ends that" in said
    assert "or with iommu=pt, which ends its translating; the way stays via root complex" in said
    assert "lost with a reboot and leaves the IOMMU groups stale" in said
    assert "noacs" not in said
    assert "lets peers use this root complex (1022:1480)" in said
    # Only ports above the two are to blame; without redirection the way is the same.
    assert not [port for port in GPP if port not in ABOVE and port in said]
    assert "nothing that a register can change: the two have no switch in common" in said


def test_with_all_ten_bridges_cleared_the_way_is_still_through_the_root_complex(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    pair, said = _two(pcietune, _epyc(tmp_path, 0x0000, "ro quiet iommu=off", iommu=False))

    assert (pair.now.forth.write.outcome, pair.now.forth.write.iommu) == ("via root complex", False)
    assert "ACS is not what keeps these two apart" in said
    assert "disable_acs_redir" not in said


def test_no_iommu_is_told_of_where_none_is_shown(pcietune: Pcietune, tmp_path: Path) -> None:
    _, said = _two(pcietune, _epyc(tmp_path, 0x001D, "ro quiet iommu=off", iommu=False))

    (note,) = [line for line in said.splitlines() if "ReqRedir+ at" in line]
    assert "through the IOMMU" not in note
    assert "iommu=pt" not in note


@pytest.mark.parametrize("word", ["pci=noacs", "pci=realloc,noacs"])
def test_noacs_is_told_to_be_no_option_of_the_kernel(
    pcietune: Pcietune, tmp_path: Path, word: str
) -> None:
    said = pcietune("paths", "--from", _epyc(tmp_path, 0x001D, f"ro {word}")).stdout

    assert "pci=noacs on the kernel command line: the kernel has no such option" in said


# openucx/ucx#3564 (A18): other socket, and ACS makes an error of what was only slow.


def test_redirection_across_sockets_fails(pcietune: Pcietune, tmp_path: Path) -> None:
    assert "expect failure, not only slowness" in _notes(pcietune, tmp_path, 0x001D, "1")


# NVIDIA/nccl#606 (A05) and #1405 (A16): SrcValid+ alone, or nothing on at all.


def test_acs_that_redirects_nothing_is_exonerated(pcietune: Pcietune, tmp_path: Path) -> None:
    for control in (0x0001, 0x0000):
        said = _notes(pcietune, tmp_path / f"{control}", control)
        assert "ACS is not what keeps these two apart" in said
        assert ("SrcValid+ by itself redirects nothing" in said) is bool(control)


def test_root_ports_of_one_slot_are_no_switch(pcietune: Pcietune, tmp_path: Path) -> None:
    """A01's GPP bridges are functions of one device: 00:03.1 and 00:03.2."""
    host = TreeHost(tmp_path)
    host.put("proc/cmdline", "ro iommu=off")
    cleared = (0x5F, 0)
    host.add(
        root_port("0000:00:03.1", acs=cleared),
        gpu("0000:41:00.0", below="0000:00:03.1"),
        root_port("0000:00:03.2", acs=cleared),
        gpu("0000:42:00.0", below="0000:00:03.2"),
    )
    run = pcietune("paths", "GPU0", "GPU1", "--json", "--from", tmp_path)
    (pair,) = msgspec.json.decode(run.stdout, type=PathsDocument).pairs

    assert pair.place == "PHB"
    assert pair.now.forth.write.outcome == "turned above"
    assert "between root ports of one slot" in pair.now.forth.write.reason
