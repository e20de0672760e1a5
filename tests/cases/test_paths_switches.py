"""Public reports on peer-to-peer below switches: which port decides, and by which bit."""

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from cli.in_process import Pcietune
from trees.config import DOWNSTREAM_PORT, ConfigBuilder
from trees.function import ACS_CAPABLE, Function, downstream_port, gpu, root_port, upstream_port
from trees.host import TreeHost
from trees.machines import one_switch

from pcietune.report.paths_document import PathsDocument

UPSTREAM, GPU_PORT, NIC_PORT = "0000:21:00.0", "0000:22:00.0", "0000:22:04.0"


def _paths(pcietune: Pcietune, root: Path, *mode: str) -> PathsDocument:
    run = pcietune("paths", "--json", "--from", root, *mode)
    assert run.exit_code == 0
    return msgspec.json.decode(run.stdout, type=PathsDocument)


# NVIDIA/nccl#304 (A02): PLX ports at 1d, cleared by setpci at f2a, which is right for PLX alone.


@pytest.mark.parametrize("at", [0xF24, 0x148])
@pytest.mark.parametrize(("control", "outcome"), [(0x001D, "via root complex"), (0, "direct")])
def test_redirection_is_found_wherever_the_capability_is(
    pcietune: Pcietune, tmp_path: Path, at: int, control: int, outcome: str
) -> None:
    ports = []
    for port in (GPU_PORT, NIC_PORT):
        config = ConfigBuilder("10b5:8747", 0x060400).express(DOWNSTREAM_PORT)
        config.serial_number(0x0E0D_0000_0000_10B5)
        ports.append(Function(port, config.acs(ACS_CAPABLE, control, at=at), below=UPSTREAM))
    one_switch(tmp_path, iommu=False, instead=ports).put("proc/cmdline", "ro iommu=off")

    (pair,) = _paths(pcietune, tmp_path).pairs

    for flow, port in ((pair.now.forth, NIC_PORT), (pair.now.back, GPU_PORT)):
        found = (flow.write.outcome, flow.write.at, flow.write.control)
        assert found == (outcome, port, "ReqRedir")


# Four MI50 below two levels of PEX88096 (A30): all twelve ways local, and ports with nothing below.


def test_all_twelve_ways_stay_in_the_switches(pcietune: Pcietune, tmp_path: Path) -> None:
    off = (ACS_CAPABLE, 0)
    top = ("0000:03:00.0", "0000:03:04.0", "0000:03:08.0", "0000:03:0c.0", "0000:03:1c.0")
    inner = ("0000:07:00.0", "0000:07:04.0")
    empty = ("0000:0b:00.0", "0000:0b:04.0")
    host = TreeHost(tmp_path)
    host.put("proc/cmdline", "ro iommu=off")
    host.add(
        root_port("0000:00:03.1", acs=off),
        upstream_port("0000:02:00.0", below="0000:00:03.1"),
        *(downstream_port(port, below="0000:02:00.0", acs=off) for port in top),
        gpu("0000:04:00.0", below=top[0]),
        gpu("0000:05:00.0", below=top[1]),
        upstream_port("0000:06:00.0", below=top[2]),
        *(downstream_port(port, below="0000:06:00.0", acs=off) for port in inner),
        gpu("0000:08:00.0", below=inner[0]),
        gpu("0000:09:00.0", below=inner[1]),
        upstream_port("0000:0a:00.0", below=top[3]),
        *(downstream_port(port, below="0000:0a:00.0", acs=off) for port in empty),
    )

    pairs = _paths(pcietune, tmp_path).pairs

    assert len(pairs) == 6
    assert {f.write.outcome for p in pairs for f in (p.now.forth, p.now.back)} == {"direct"}
    said = pcietune("paths", "--from", tmp_path).stdout
    assert "ACS is not what keeps any two of these apart" in said


# intel/compute-runtime#942 (A22): ACS is off, and still an IOMMU that translates sends all up.

CARDS = {"0000:0c:10.0": "0d", "0000:0c:18.0": "11", "0000:16:00.0": "17", "0000:16:08.0": "1b"}


def _four_cards(root: Path, control: int, group_type: str) -> Path:
    registers = (ACS_CAPABLE, control)
    functions = [
        root_port("0000:00:01.0", acs=registers),
        upstream_port("0000:09:00.0", below="0000:00:01.0"),
    ]
    for upper, bus in (("0000:0a:00.0", "0b"), ("0000:0a:04.0", "15")):
        functions.append(downstream_port(upper, below="0000:09:00.0", acs=registers))
        functions.append(upstream_port(f"0000:{bus}:00.0", below=upper))
    for port, bus in CARDS.items():
        below = "0000:0b:00.0" if port.startswith("0000:0c") else "0000:15:00.0"
        inner = f"0000:{int(bus, 16) + 1:02x}:01.0"
        functions += [
            downstream_port(port, below=below, acs=registers),
            upstream_port(f"0000:{bus}:00.0", below=port),
            downstream_port(inner, below=f"0000:{bus}:00.0", acs=registers),
            gpu(f"0000:{int(bus, 16) + 2:02x}:00.0", below=inner),
        ]
    host = TreeHost(root)
    host.intel_iommu("dmar0")
    host.add(*(replace(f, group=n, iommu="dmar0") for n, f in enumerate(functions)))
    for number in range(len(functions)):
        host.group_type(number, group_type)
    return root


@pytest.mark.parametrize(
    ("control", "group_type", "way"),
    [
        (0x001D, "DMA-FQ", ("via root complex", True)),
        (0x0000, "DMA-FQ", ("via root complex", True)),
        (0x0000, "identity", ("direct", False)),
    ],
)
def test_twelve_ways_are_direct_only_with_identity_addresses_too(
    pcietune: Pcietune, tmp_path: Path, control: int, group_type: str, way: tuple[str, bool]
) -> None:
    pairs = _paths(pcietune, _four_cards(tmp_path, control, group_type)).pairs

    ways = [flow.write for pair in pairs for flow in (pair.now.forth, pair.now.back)]
    assert len(ways) == 12
    assert {(write.outcome, write.iommu) for write in ways} == {way}


def test_what_is_missing_where_acs_is_off_is_iommu_pt(pcietune: Pcietune, tmp_path: Path) -> None:
    _four_cards(tmp_path, 0, "DMA-FQ")

    for pair in _paths(pcietune, tmp_path, "--mode", "baremetal").pairs:
        assert pair.cure_forth is not None
        (change,) = pair.cure_forth.changes
        assert change.command.startswith("iommu=pt")


# Supermicro 7048GR-TR, NVIDIA/nccl#19 (A08): the switches are on two sockets.


@pytest.mark.parametrize("control", [0x001D, 0x0000])
def test_across_sockets_nothing_is_direct_whatever_acs_says(
    pcietune: Pcietune, tmp_path: Path, control: int
) -> None:
    host = TreeHost(tmp_path)
    host.put("proc/cmdline", "ro iommu=off")
    for node, (root, bus) in enumerate((("0000:00:02.0", 3), ("0000:80:02.0", 0x82))):
        up, down = f"0000:{bus:02x}:00.0", f"0000:{bus + 1:02x}:08.0"
        card = gpu(f"0000:{bus + 2:02x}:00.0", below=down)
        card.attributes["numa_node"] = str(node)
        host.add(
            root_port(root, acs=(ACS_CAPABLE, control)),
            upstream_port(up, below=root),
            downstream_port(down, below=up, acs=(ACS_CAPABLE, control)),
            card,
        )

    (pair,) = _paths(pcietune, tmp_path, "--mode", "baremetal").pairs

    assert pair.place == "SYS"
    assert pair.now.forth.write.outcome == "via root complex"
    assert pair.cure_forth is not None
    assert pair.cure_forth.changes == []


# Root ports of one slot that do not redirect: the kernel's groups take them for one device.


def test_groups_that_root_ports_of_one_slot_break_are_told(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    host = TreeHost(tmp_path)
    host.intel_iommu("dmar0")
    ports = ("0000:00:03.1", "0000:00:03.2")
    functions = [root_port(port, acs=(ACS_CAPABLE, 0)) for port in ports]
    functions += [
        gpu(card, below=port, driver="vfio-pci")
        for card, port in zip(("0000:41:00.0", "0000:61:00.0"), ports, strict=True)
    ]
    host.add(*(replace(f, group=n, iommu="dmar0") for n, f in enumerate(functions)))

    said = pcietune("paths", "--isolation", "--from", tmp_path).stdout

    assert f"NOT APART  {ports[0]}, {ports[1]}: ReqRedir-" in said
