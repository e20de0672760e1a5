from pathlib import Path

import msgspec
from trees.fabrics import two_switches
from trees.machines import one_switch
from tune.judged import GPU, NIC, opened
from tune.paths_hosts import pair, undescribed

from pcietune.model.profile import ModeName
from pcietune.report.paths_transport import (
    TransportDocument,
    guest_lines,
    transport_document,
    transport_lines,
    transport_table,
)
from pcietune.tune.match.survey import survey
from pcietune.tune.paths.guest_view import Guest
from pcietune.tune.paths.means import Better, Means, Transport
from pcietune.tune.paths.pairs import Look, view_paths
from pcietune.tune.paths.transport import transports

TRANSPORT = Transport(
    Means.SHARED_MEMORY,
    "20 GB/s",
    (Better(Means.NVLINK, "600 GB/s", "no partition"), Better(Means.PEER_TO_PEER, "half", "a VM")),
    ("whether links are up: nvidia-smi nvlink -s",),
    ("measure it",),
)


def test_a_pair_says_what_it_can_count_on_and_why_nothing_better(tmp_path: Path) -> None:
    found = pair(undescribed(one_switch(tmp_path)), NIC, GPU)
    key = (found.one.function.address, found.other.function.address)

    assert list(transport_lines(found, {key: TRANSPORT})) == [
        "",
        "transport  shared memory: 20 GB/s",
        "  not NVLink, 600 GB/s: no partition",
        "  not PCIe peer-to-peer, half: a VM",
        "  not known here: whether links are up: nvidia-smi nvlink -s",
        "  measure it",
    ]
    assert list(transport_lines(found, {})) == []


def test_what_is_not_known_is_said_to_be_so_once(tmp_path: Path) -> None:
    found = pair(undescribed(one_switch(tmp_path)), NIC, GPU)
    key = (found.one.function.address, found.other.function.address)
    unknown = Transport(Means.NOT_KNOWN, "not known")

    assert list(transport_lines(found, {key: unknown})) == ["", "transport  not known"]


def test_a_vm_is_told_of_in_notes() -> None:
    assert list(guest_lines(Guest("x", ("one", "two"), {}))) == ["note  one", "note  two"]
    assert list(guest_lines(None)) == []


def test_the_document_holds_the_same() -> None:
    document = transport_document(TRANSPORT)
    read = msgspec.json.decode(msgspec.json.encode(document), type=TransportDocument)

    assert (read.means, read.bandwidth) == ("shared memory", "20 GB/s")
    assert [each.means for each in read.better] == ["NVLink", "PCIe peer-to-peer"]
    assert (read.not_known, read.advice) == (list(TRANSPORT.not_known), ["measure it"])


def test_pairs_that_are_alike_are_told_together(tmp_path: Path) -> None:
    host = opened(two_switches(tmp_path))
    fabric = survey(host, lambda functions: functions)
    view = view_paths(host, fabric, {}, None, Look(ModeName.VM))
    lines = list(transport_table(view, transports(host, view)))
    heads = [line for line in lines if line.startswith(("  GPU to", "  NIC to"))]

    assert lines[0] == ""
    assert lines[1] == "Transport: what collective libraries can count on"
    assert [head.partition(":")[0] for head in heads] == [
        "  GPU to GPU  shared memory  1 pair",
        "  NIC to GPU  GPUDirect RDMA  4 pairs",
        "  NIC to GPU  host memory  4 pairs",
    ]
    assert "    NIC0-GPU0 NIC1-GPU0 NIC2-GPU1 NIC3-GPU1" in lines
    assert sum("NCCL_NET_GDR_LEVEL" in line for line in lines) == 1


def test_a_host_without_such_pairs_has_no_table(tmp_path: Path) -> None:
    host = opened(one_switch(tmp_path))
    fabric = survey(host, lambda functions: functions)
    view = view_paths(host, fabric, {}, None)

    assert {str(peer.function.address) for peer in view.peers} == {GPU, NIC}
    assert list(transport_table(view, {})) == []
