"""More public reports: a forced peer-to-peer that corrupts, and NVIDIA's rule table."""

from pathlib import Path

import msgspec
import pytest
from cli.in_process import Pcietune
from trees.config import ConfigBuilder
from trees.function import (
    ACS_CAPABLE,
    Function,
    downstream_port,
    gpu,
    root_port,
    upstream_port,
)
from trees.host import TreeHost
from trees.machines import one_switch
from tune.judged import GPU_PORT, NIC_PORT

from pcietune.report.paths_document import FlowDocument, PathsDocument


def _paths(pcietune: Pcietune, root: Path, *options: str) -> PathsDocument:
    run = pcietune("paths", "--json", "--from", root, *options)
    assert run.exit_code == 0, run.stderr
    return msgspec.json.decode(run.stdout, type=PathsDocument)


# intel/compute-runtime#935 (A21): one topology, two exact outcomes.


def _two_cards(root: Path, control: int) -> Path:
    """Return two GPUs, each on a card with bridges of its own, below one PEX880xx."""
    acs = (ACS_CAPABLE, control)
    host = TreeHost(root)
    host.put("proc/cmdline", "ro iommu=off")
    host.add(
        Function("0000:00:00.0", ConfigBuilder("8086:4c43", 0x060000)),  # Rocket Lake
        root_port("0000:00:01.0"),
        upstream_port("0000:0a:00.0", below="0000:00:01.0"),
        downstream_port("0000:0b:00.0", below="0000:0a:00.0", acs=acs),
        downstream_port("0000:0b:10.0", below="0000:0a:00.0", acs=acs),
        upstream_port("0000:0c:00.0", below="0000:0b:00.0"),
        downstream_port("0000:0d:01.0", below="0000:0c:00.0", acs=acs),
        gpu("0000:0e:00.0", below="0000:0d:01.0"),
        upstream_port("0000:10:00.0", below="0000:0b:10.0"),
        downstream_port("0000:11:01.0", below="0000:10:00.0", acs=acs),
        gpu("0000:12:00.0", below="0000:11:01.0"),
    )
    return root


def test_redirected_below_an_unlisted_host_bridge_peer_to_peer_is_refused(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    (pair,) = _paths(pcietune, _two_cards(tmp_path, 0x000C)).pairs
    write = pair.now.forth.write

    assert (write.outcome, write.at, write.control) == (
        "via root complex",
        "0000:0b:00.0",
        "ReqRedir",
    )
    (note,) = [each for each in pair.notes if "p2pdma" in each]
    assert "refuses this root complex (8086:4c43)" in note


def test_cleared_it_is_direct_and_the_bridges_of_the_cards_are_on_the_way(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    (pair,) = _paths(pcietune, _two_cards(tmp_path, 0)).pairs
    write = pair.now.forth.write

    assert (write.outcome, write.at) == ("direct", "0000:0b:00.0")
    assert [step.address for step in write.steps] == [
        "0000:0d:01.0",  # on the card
        "0000:0b:00.0",
        "0000:0b:10.0",
        "0000:11:01.0",
    ]


# rdma-core's rdma_topo (B13): the masks that it writes, by deployment, and what they make of ways.


@pytest.mark.parametrize(
    ("masks", "mode", "ways"),
    [
        # inline, virtualised: 1x111x1 at the NIC, xx111x1 at the GPU
        ((0x5D, 0x1D), "vm", ("direct", "via root complex")),
        ((0x1D, 0x1D), "vm", ("via root complex", "via root complex")),
        # inline, bare metal: xx000x0 at both
        ((0x00, 0x00), "baremetal", ("direct", "direct")),
        ((0x1D, 0x1D), "baremetal", ("via root complex", "via root complex")),
    ],
)
def test_nvidias_masks_give_the_ways_that_they_are_for(
    pcietune: Pcietune, tmp_path: Path, masks: tuple[int, int], mode: str, ways: tuple[str, str]
) -> None:
    ports = [
        downstream_port(port, below="0000:21:00.0", acs=(ACS_CAPABLE, mask))
        for port, mask in zip((NIC_PORT, GPU_PORT), masks, strict=True)
    ]
    host = one_switch(tmp_path, iommu=mode == "vm", instead=ports)
    if mode == "baremetal":
        host.put("proc/cmdline", "ro iommu=off")
    (pair,) = _paths(pcietune, tmp_path, "--mode", mode).pairs

    assert (pair.now.forth.write.outcome, pair.now.back.write.outcome) == ways


def test_data_direct_lets_completions_pass_at_the_nic(pcietune: Pcietune, tmp_path: Path) -> None:
    """On Grace the NIC's port is xx110x1: CmpltRedir- there, so what the GPU reads is direct."""
    port = downstream_port(NIC_PORT, below="0000:21:00.0", acs=(ACS_CAPABLE, 0x15))
    one_switch(tmp_path, instead=[port])
    (pair,) = _paths(pcietune, tmp_path, "--mode", "vm").pairs

    def completion(flow: FlowDocument) -> tuple[str, str | None, str | None]:
        return (flow.completion.outcome, flow.completion.at, flow.completion.control)

    assert completion(pair.now.back) == ("direct", NIC_PORT, "CmpltRedir")
    assert completion(pair.now.forth) == ("via root complex", GPU_PORT, "CmpltRedir")


# Supermicro 7048GR-TR, NVIDIA/nccl#19 (A08): PEX8747 on two sockets, and nested.


@pytest.mark.parametrize(("control", "outcome"), [(0x1D, "via root complex"), (0, "direct")])
def test_of_nested_switches_only_ports_that_look_down_decide(
    pcietune: Pcietune, tmp_path: Path, control: int, outcome: str
) -> None:
    acs = (ACS_CAPABLE, control)
    host = TreeHost(tmp_path)
    host.put("proc/cmdline", "ro iommu=off")
    host.add(
        root_port("0000:00:02.0", acs=(ACS_CAPABLE, 0x1D)),
        upstream_port("0000:03:00.0", below="0000:00:02.0"),
        downstream_port("0000:04:08.0", below="0000:03:00.0", acs=acs),
        downstream_port("0000:04:10.0", below="0000:03:00.0", acs=acs),
        gpu("0000:05:00.0", below="0000:04:08.0"),
        gpu("0000:06:00.0", below="0000:04:10.0"),
        root_port("0000:80:02.0", acs=(ACS_CAPABLE, 0x1D)),
        upstream_port("0000:82:00.0", below="0000:80:02.0"),
        downstream_port("0000:83:08.0", below="0000:82:00.0", acs=acs),
        downstream_port("0000:83:10.0", below="0000:82:00.0", acs=acs),
        gpu("0000:84:00.0", below="0000:83:08.0"),
        upstream_port("0000:86:00.0", below="0000:83:10.0"),
        downstream_port("0000:87:08.0", below="0000:86:00.0", acs=acs),
        downstream_port("0000:87:10.0", below="0000:86:00.0", acs=acs),
        gpu("0000:88:00.0", below="0000:87:08.0"),
        gpu("0000:89:00.0", below="0000:87:10.0"),
    )
    pairs = {(p.one, p.other): p for p in _paths(pcietune, tmp_path).pairs}
    upstream = {"0000:03:00.0", "0000:82:00.0", "0000:86:00.0"}

    near = [
        (("0000:05:00.0", "0000:06:00.0"), "PIX", "0000:04:08.0"),
        (("0000:88:00.0", "0000:89:00.0"), "PIX", "0000:87:08.0"),
        (("0000:84:00.0", "0000:88:00.0"), "PXB", "0000:83:08.0"),
    ]
    for two, place, at in near:
        write = pairs[two].now.forth.write
        assert (pairs[two].place, write.outcome, write.at) == (place, outcome, at)
        assert upstream.isdisjoint(step.address for step in write.steps)
    far = pairs["0000:05:00.0", "0000:84:00.0"].now.forth.write
    assert (far.outcome, far.at) == ("via root complex", None)  # whatever ACS says
