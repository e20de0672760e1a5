"""Public reports on VMs: what can be said from the inside, and what its host's addresses mean."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from cases.guest_addresses import behind_an_iommu
from cli.in_process import Pcietune
from trees.config import DOWNSTREAM_PORT, ENDPOINT, UPSTREAM_PORT, ConfigBuilder
from trees.express import Express
from trees.function import (
    ACS_CAPABLE,
    Function,
    downstream_port,
    gpu,
    nic,
    root_port,
)
from trees.host import TreeHost
from trees.machines import one_switch

from pcietune.report.paths_document import PairDocument, PathsDocument

UPSTREAM, GPU_PORT, NIC_PORT = "0000:21:00.0", "0000:22:00.0", "0000:22:04.0"
NIC = "0000:24:00.0"
PORTS = ("0000:00:01.0", "0000:00:02.0")
INSIDE = ("0000:01:00.0", "0000:02:00.0")
EXONERATED = "ACS is not what keeps"


def _document(pcietune: Pcietune, root: Path, mode: str | None = None) -> PathsDocument:
    named = [] if mode is None else ["--mode", mode]
    run = pcietune("paths", "--json", "--from", root, *named)
    assert run.exit_code == 0
    return msgspec.json.decode(run.stdout, type=PathsDocument)


def _pair(pcietune: Pcietune, root: Path, mode: str) -> PairDocument:
    (pair,) = _document(pcietune, root, mode).pairs
    return pair


def _vm(root: Path, functions: Iterable[Function]) -> TreeHost:
    """Return a VM of QEMU's, which tells no NUMA nodes."""
    tree = TreeHost(root)
    tree.put("sys/devices/virtual/dmi/id/sys_vendor", "QEMU")
    tree.put("sys/devices/virtual/dmi/id/product_name", "Standard PC (Q35 + ICH9, 2009)")
    for function in functions:
        attributes = function.attributes | {"numa_node": "-1"}
        tree.add(replace(function, attributes=attributes))
    return tree


# NVIDIA/nccl-tests#256 (C02): a VM with ATS on in its ConnectX-7, and no switch to be seen.


def _flat(ats: int) -> list[Function]:
    return [
        *(root_port(port, acs=None) for port in PORTS),
        gpu(INSIDE[0], below=PORTS[0]),
        nic(INSIDE[1], below=PORTS[1], ats=(0x0020, ats)),
    ]


def test_in_a_vm_ats_is_fine_the_topology_is_missing_and_its_host_is_not_judged(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    _vm(tmp_path, _flat(0x8000))

    said = pcietune("paths", "NIC0", "GPU0", "--from", tmp_path).stdout

    assert f"ATS Enable+ of {INSIDE[1]} is as it should be, and only half" in said
    assert "give it NCCL_TOPO_FILE" in said
    assert f"the NUMA node of {INSIDE[0]}, {INSIDE[1]} is not to be seen" in said
    assert "DirectTrans above all, cannot be seen from here" in said


def test_in_a_vm_without_ats_nothing_is_called_fine(pcietune: Pcietune, tmp_path: Path) -> None:
    _vm(tmp_path, _flat(0x0000))

    assert "ATS Enable+" not in pcietune("paths", "--from", tmp_path).stdout


def test_in_a_vm_the_acs_of_its_host_is_not_exonerated(pcietune: Pcietune, tmp_path: Path) -> None:
    _vm(tmp_path / "vm", _flat(0x8000))
    TreeHost(tmp_path / "machine").add(*_flat(0x8000))

    for command in (("paths",), ("paths", "NIC0", "GPU0")):
        assert EXONERATED not in pcietune(*command, "--from", tmp_path / "vm").stdout
        assert EXONERATED in pcietune(*command, "--from", tmp_path / "machine").stdout


# NVIDIA/nccl#811 (C06): a VF and five A100 on the root bus of a VM, as conventional PCI.


def test_on_a_vms_root_bus_there_is_no_hierarchy_and_no_ats(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    virtual = ConfigBuilder("15b3:101c", 0x020700).cut(256)
    gpus = [f"0000:00:{slot:02x}.0" for slot in range(0x0A, 0x0F)]
    conventional = [ConfigBuilder("10de:20b0", 0x030200).cut(256) for _ in gpus]
    _vm(
        tmp_path,
        [Function("0000:00:09.0", virtual), *map(Function, gpus, conventional)],
    )

    run = pcietune("paths", "--from", tmp_path)

    assert run.exit_code == 0
    assert (
        f"note  {', '.join(gpus)}, 0000:00:09.0 on the root bus itself, as conventional PCI: there "
        "is no PCIe hierarchy, extended capabilities may be hidden, ATS cannot be used"
    ) in run.stdout
    assert "give each a pcie-root-port of its own" in run.stdout


def test_below_a_root_port_of_its_own_a_vms_nic_is_not_warned_of(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    _vm(tmp_path, _flat(0x8000))

    assert "on the root bus itself" not in pcietune("paths", "--from", tmp_path).stdout


# NVIDIA/nccl#1205 (C10): Relaxed Ordering matters only with ACS and ATS.


def _ordering(root: Path, controls: tuple[int, int], *, relaxed: bool = True) -> Path:
    gpu_port, nic_port = controls
    adapter = nic(NIC, below=NIC_PORT, express=Express(relaxed_ordering=relaxed))
    host = one_switch(
        root,
        instead=[
            downstream_port(GPU_PORT, below=UPSTREAM, acs=(ACS_CAPABLE, gpu_port)),
            downstream_port(NIC_PORT, below=UPSTREAM, acs=(ACS_CAPABLE, nic_port)),
            adapter,
        ],
    )
    for group in range(6):
        host.group_type(group, "identity")
    return root


def test_in_a_vm_relaxed_ordering_is_advised_where_completions_go_up(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    pair = _pair(pcietune, _ordering(tmp_path, (0x001D, 0x005D)), "vm")

    flow = pair.now.forth
    assert flow.write.outcome == "direct"
    found = (flow.completion.outcome, flow.completion.at, flow.completion.control)
    assert found == ("via root complex", GPU_PORT, "CmpltRedir")
    assert flow.relaxed_completion is not None
    assert flow.relaxed_completion.outcome == "direct"
    assert pair.transport is not None
    (advice,) = pair.transport.advice
    assert advice.endswith("NCCL_IB_PCI_RELAXED_ORDERING=1")


def test_on_bare_metal_relaxed_ordering_changes_nothing_and_is_not_advised(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    pair = _pair(pcietune, _ordering(tmp_path, (0x0000, 0x0000)), "baremetal")

    flow = pair.now.forth
    assert (flow.write.outcome, flow.completion.outcome) == ("direct", "direct")
    assert pair.transport is not None
    assert pair.transport.advice == []


@pytest.mark.parametrize(("mode", "fails"), [("vm", True), ("baremetal", False)])
def test_relaxed_ordering_that_a_nic_may_not_use_fails_only_for_vms(
    pcietune: Pcietune, tmp_path: Path, mode: str, *, fails: bool
) -> None:
    _ordering(tmp_path, (0x001D, 0x005D), relaxed=False)
    judged = ["audit", "--profile", "gpu-rdma", "--mode", mode, "--json"]
    document = pcietune(*judged, "--from", tmp_path).document()

    failing = {
        finding.subject.address
        for finding in document.findings
        if finding.id == "device.relaxed-ordering" and finding.state == "fail"
    }
    assert failing == ({NIC} if fails else set())


# noonghunna/club-3090#890, lxc/incus#3962 (C12): QEMU's switch allows no peer-to-peer, a capability
# of NVIDIA's does.


@pytest.mark.parametrize("vouched", [False, True])
def test_in_a_vm_the_capability_counts_and_not_the_tree(
    pcietune: Pcietune, tmp_path: Path, *, vouched: bool
) -> None:
    cards = []
    for bus, number in ((3, 0), (4, 1)):
        card = ConfigBuilder("10de:2204", 0x030000).express(ENDPOINT)
        if vouched:  # for clique 0 (QEMU, vfio_add_nv_gpudirect_cap)
            card.capability(0x09, b"\x08P2P\0\0")
        cards.append(Function(f"0000:0{bus}:00.0", card, below=f"0000:02:0{number}.0"))
    up = ConfigBuilder("104c:8232", 0x060400).express(UPSTREAM_PORT)
    down = [ConfigBuilder("104c:8233", 0x060400).express(DOWNSTREAM_PORT) for _ in cards]
    emulated = [
        Function("0000:01:00.0", up, below=PORTS[0]),
        Function("0000:02:00.0", down[0], below="0000:01:00.0"),
        Function("0000:02:01.0", down[1], below="0000:01:00.0"),
    ]
    _vm(tmp_path, [root_port(PORTS[0], acs=None), *emulated, *cards])

    shown = pcietune("paths", "GPU0", "GPU1", "--from", tmp_path).stdout

    assert ("the hypervisor vouches for PCIe peer-to-peer between" in shown) is vouched
    assert ("QEMU's switch, 104c:8232, does not change that" in shown) is not vouched
    # Whatever is vouched for, the host must allow the route.
    assert "what the switches of its host do, DirectTrans above all, cannot be seen" in shown


# riscv-non-isa/riscv-iommu#720 (C16): with T2GPA, translations are addresses of the guest.


def test_translations_that_may_be_a_guests_addresses_are_never_said_to_be_direct(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    pair = _pair(pcietune, behind_an_iommu(tmp_path, known=False, control=0x005D), "vm")

    write = pair.now.forth.write
    assert (write.outcome, write.at, write.control) == ("unknown", NIC_PORT, "DirectTrans")
    assert pair.cure_forth is not None
    assert pair.cure_forth.changes == []
    assert pair.cure_forth.obstacle is not None
    assert "T2GPA" in pair.cure_forth.obstacle
    assert pair.cure_forth.obstacle.endswith("DirectTrans must stay off")


def test_direct_translated_is_no_remedy_there_and_is_where_answers_are_host_addresses(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    unsure = _pair(
        pcietune, behind_an_iommu(tmp_path / "a", known=False, control=0x001D), "vm"
    ).cure_forth
    sure = _pair(
        pcietune, behind_an_iommu(tmp_path / "b", known=True, control=0x001D), "vm"
    ).cure_forth

    assert unsure is not None
    assert sure is not None
    assert unsure.changes == []
    assert [(change.address, change.bits) for change in sure.changes] == [
        (NIC_PORT, ["DirectTrans+"])
    ]


def test_audit_does_not_pass_the_ats_of_a_nic_behind_it(pcietune: Pcietune, tmp_path: Path) -> None:
    behind_an_iommu(tmp_path, known=False, control=0x005D)
    judged = ["audit", "--profile", "gpu-rdma", "--mode", "vm", "--json"]

    finding = pcietune(*judged, "--from", tmp_path).finding("nic.ats", NIC)

    assert finding.state == "error"
    assert "whether this IOMMU answers with host addresses is not known" in finding.reason


@pytest.mark.parametrize("control", [0x001D, 0x005D])
def test_direct_translated_is_not_asked_for_there_nor_passed_nor_written(
    pcietune: Pcietune, tmp_path: Path, control: int
) -> None:
    behind_an_iommu(tmp_path, known=False, control=control)
    judged = ("--profile", "gpu-rdma", "--mode", "vm", "--json", "--from")

    finding = pcietune("audit", *judged, tmp_path).finding("port.nic-side.DirectTrans", NIC_PORT)

    assert (finding.state, finding.remedy) == ("error", None)
    assert f"whether the IOMMU answers {NIC} with addresses of the host" in finding.reason
    assert pcietune("plan", *judged, tmp_path).document().writes == []
