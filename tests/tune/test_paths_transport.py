"""Expected: NCCL's src/graph/paths.cc, p2p_caps.c of NVIDIA's open kernel modules, data sheets."""

from dataclasses import replace
from pathlib import Path

import pytest
from trees.config import ENDPOINT, ConfigBuilder
from trees.express import Express
from trees.fabrics import cascade, two_switches
from trees.function import ACS_CAPABLE, Function, downstream_port, nic, nvswitch, root_port
from trees.host import TreeHost
from trees.machines import one_switch
from tune.judged import GPU, NIC, NIC_PORT, opened
from tune.paths_hosts import pair

from pcietune.model.profile import ModeName
from pcietune.tune.match.survey import survey
from pcietune.tune.paths.guest_view import guest_view
from pcietune.tune.paths.means import Means, Transport
from pcietune.tune.paths.nvlink import is_nvswitch
from pcietune.tune.paths.pairs import Look, view_paths
from pcietune.tune.paths.transport import transports

A100_SXM, A100_PCIE, L40S, A10G, B200 = (
    "10de:20b2",
    "10de:20f1",
    "10de:26b9",
    "10de:2237",
    "10de:2901",
)
INSTINCT = "1002:740f"
GPUS = ("0000:25:00.0", "0000:29:00.0")  # of a cascade: PXB
UP = "0000:21:00.0"
QUIET = (ACS_CAPABLE, 0x0001)


def _gpu(address: str, device: str, *, below: str) -> Function:
    return Function(address, ConfigBuilder(device, 0x030200).express(ENDPOINT), below=below)


def _two_gpus(root: Path, device: str, other: str | None = None) -> TreeHost:
    """Return a cascade with two such GPUs, and nothing that redirects."""
    ports = [
        downstream_port(address, below=above, acs=QUIET)
        for address, above in (
            ("0000:22:00.0", UP),
            ("0000:22:04.0", UP),
            ("0000:24:00.0", "0000:23:00.0"),
            ("0000:24:04.0", "0000:23:00.0"),
            ("0000:28:00.0", "0000:27:00.0"),
        )
    ]
    gpus = [
        _gpu(GPUS[0], device, below="0000:24:00.0"),
        _gpu(GPUS[1], other or device, below="0000:28:00.0"),
    ]
    tree = cascade(root, instead=[*ports, *gpus])
    for number in range(16):
        if (root / f"sys/kernel/iommu_groups/{number}").exists():
            tree.group_type(number, "identity")
    return tree


def _transport(tree: TreeHost, one: str, other: str, *, mode: ModeName | None = None) -> Transport:
    host = opened(tree)
    fabric = survey(host, lambda functions: functions)
    view = view_paths(host, fabric, {}, None, Look(mode))
    found = pair(view, one, other)
    told = transports(host, view, guest_view(host, fabric, view.peers))
    return told[found.one.function.address, found.other.function.address]


def _between(tree: TreeHost, mode: ModeName | None = None) -> Transport:
    return _transport(tree, *GPUS, mode=mode)


def test_nvswitches_tie_gpus_on_bare_metal(tmp_path: Path) -> None:
    tree = _two_gpus(tmp_path, A100_SXM)
    tree.add(nvswitch("0000:26:00.1", below="0000:24:04.0"))
    found = _between(tree)

    assert (found.means, found.better) == (Means.NVLINK, ())
    assert found.bandwidth.startswith("600 GB/s")
    assert "nvidia-smi nvlink -s" in found.not_known[0]  # MIG turns it off


def test_a_bridge_of_another_class_is_no_nvswitch(tmp_path: Path) -> None:
    tree = _two_gpus(tmp_path, A100_PCIE)
    host_bridge = ConfigBuilder("10de:22a3", 0x060000).express(ENDPOINT)
    tree.add(Function("0000:26:00.1", host_bridge, below="0000:24:04.0"))

    assert not any(map(is_nvswitch, opened(tree).functions()))
    assert _between(tree).means is Means.PEER_TO_PEER


@pytest.mark.parametrize("device", [A100_SXM, B200])
def test_a_board_ties_its_gpus_where_no_nvswitch_is_a_pci_function(
    tmp_path: Path, device: str
) -> None:
    assert _between(_two_gpus(tmp_path, device)).means is Means.NVLINK


def test_in_a_vm_nvlink_is_not_promised_without_a_partition(tmp_path: Path) -> None:
    tree = _two_gpus(tmp_path, A100_SXM)
    tree.add(nvswitch("0000:26:00.1", below="0000:24:04.0"))
    found = _between(tree, ModeName.VM)

    assert found.means is Means.SHARED_MEMORY
    assert [better.means for better in found.better] == [Means.NVLINK, Means.PEER_TO_PEER]
    assert "Fabric Manager" in found.better[0].why
    assert "x-nv-gpudirect-clique" in found.better[1].why
    assert "go through the IOMMU" in found.better[1].why  # GPUs without ATS


def test_of_cards_a_bridge_is_possible_and_not_to_be_seen(tmp_path: Path) -> None:
    found = _between(_two_gpus(tmp_path, A100_PCIE))

    assert found.means is Means.PEER_TO_PEER
    assert found.bandwidth == "that of the narrowest link between them"
    assert [better.means for better in found.better] == [Means.NVLINK]
    assert "nvidia-smi nvlink -s" in found.not_known[0]


def test_gpus_without_nvlink_go_by_pcie(tmp_path: Path) -> None:
    found = _between(_two_gpus(tmp_path, L40S))

    assert (found.means, found.better, found.advice) == (Means.PEER_TO_PEER, (), ())


def test_where_pcie_was_seen_below_shared_memory_measuring_ranks(tmp_path: Path) -> None:
    found = _between(_two_gpus(tmp_path, A10G))

    assert found.means is Means.PEER_TO_PEER
    assert "rank by measurement" in found.advice[0]


def test_of_another_vendor_xgmi_is_not_known(tmp_path: Path) -> None:
    found = _between(_two_gpus(tmp_path, INSTINCT))

    assert found.means is Means.PEER_TO_PEER
    assert "rocm-smi --showtopo" in found.not_known[0]


def test_gpus_of_two_vendors_share_memory(tmp_path: Path) -> None:
    assert _between(_two_gpus(tmp_path, L40S, INSTINCT)).means is Means.SHARED_MEMORY


def test_beyond_a_host_bridge_nccl_shares_memory(tmp_path: Path) -> None:
    instead = [
        _gpu("0000:23:00.0", L40S, below="0000:22:00.0"),
        _gpu("0000:43:00.0", L40S, below="0000:42:00.0"),
    ]
    tree = two_switches(tmp_path, instead=instead)
    found = _transport(tree, "0000:23:00.0", "0000:43:00.0")

    assert found.means is Means.SHARED_MEMORY
    assert "NCCL_P2P_LEVEL" in found.better[0].why


def test_on_an_amd_host_with_two_gpus_nccl_goes_any_distance(tmp_path: Path) -> None:
    tree = two_switches(
        tmp_path,
        instead=[
            _gpu("0000:23:00.0", L40S, below="0000:22:00.0"),
            _gpu("0000:43:00.0", L40S, below="0000:42:00.0"),
        ],
    )
    tree.add(Function("0000:00:00.2", ConfigBuilder("1022:164f", 0x080600)))
    tree.amd_iommu("ivhd0", below="0000:00:00.2", cap=0)

    assert _transport(tree, "0000:23:00.0", "0000:43:00.0").means is Means.PEER_TO_PEER


def test_a_way_that_fails_is_no_way(tmp_path: Path) -> None:
    tree = _two_gpus(tmp_path, L40S)
    blocking = downstream_port("0000:22:00.0", below=UP, acs=(0x087F, 0x0021))
    config = bytearray(blocking.config.build())
    vector = config.index(bytes([0x7F, 0x08, 0x21, 0x00])) + 4
    config[vector : vector + 4] = b"\xff\x00\x00\x00"
    tree.config("0000:22:00.0").write_bytes(bytes(config))
    found = _between(tree)

    assert found.means is Means.SHARED_MEMORY
    assert "blocked at 0000:22:00.0" in found.better[0].why


def _served(root: Path, control: int, *, relaxed: bool = True) -> Transport:
    """Return what a NIC and a GPU of a VM's can count on."""
    instead = [
        downstream_port(NIC_PORT, below=UP, acs=(ACS_CAPABLE, control)),
        nic(NIC, below=NIC_PORT, express=Express(relaxed_ordering=relaxed)),
    ]
    return _transport(one_switch(root, instead=instead), NIC, GPU, mode=ModeName.VM)


def test_gpudirect_rdma_past_the_iommu_is_as_fast_as_the_link(tmp_path: Path) -> None:
    found = _served(tmp_path, 0x005D)

    assert found.means is Means.GPUDIRECT_RDMA
    assert found.bandwidth == "that of the narrowest link between them"
    assert "nvidia_peermem" in found.not_known[0]
    assert "NCCL_TOPO_FILE" in found.not_known[1]
    assert found.advice[0].endswith("NCCL_IB_PCI_RELAXED_ORDERING=1")


def test_relaxed_ordering_that_the_nic_may_not_use_is_named(tmp_path: Path) -> None:
    assert f"RlxdOrd- of {NIC}" in _served(tmp_path, 0x005D, relaxed=False).advice[0]


def test_through_the_iommu_it_is_about_half(tmp_path: Path) -> None:
    found = _served(tmp_path, 0x001D)

    assert found.means is Means.GPUDIRECT_RDMA
    assert found.bandwidth.startswith("about half")
    assert found.advice == ()


def test_without_redirection_in_a_vm_it_fails_and_memory_is_left(tmp_path: Path) -> None:
    instead = [nic(NIC, below=NIC_PORT, ats=None), downstream_port(NIC_PORT, below=UP, acs=QUIET)]
    found = _transport(one_switch(tmp_path, instead=instead), NIC, GPU, mode=ModeName.VM)

    assert found.means is Means.HOST_MEMORY
    assert f"misrouted at {NIC_PORT}" in found.better[0].why


def test_on_bare_metal_relaxed_ordering_changes_nothing(tmp_path: Path) -> None:
    instead = [
        downstream_port(address, below=UP, acs=QUIET) for address in (NIC_PORT, "0000:22:00.0")
    ]
    found = _transport(one_switch(tmp_path, iommu=False, instead=instead), NIC, GPU)

    assert (found.means, found.advice) == (Means.GPUDIRECT_RDMA, ())


def test_beyond_a_host_bridge_gpudirect_rdma_is_not_chosen(tmp_path: Path) -> None:
    tree = two_switches(tmp_path)
    found = _transport(tree, "0000:24:00.0", "0000:43:00.0")

    assert found.means is Means.HOST_MEMORY
    assert "NCCL_NET_GDR_LEVEL" in found.better[0].why


def test_what_cannot_be_read_is_not_known(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    config = bytearray(tree.config(NIC_PORT).read_bytes())
    config[0x100:0x104] = b"\x0d\x00\x01\x08"  # the next capability is at 080h, where none may be
    tree.config(NIC_PORT).write_bytes(bytes(config))
    found = _transport(tree, NIC, GPU, mode=ModeName.VM)

    assert found.means is Means.NOT_KNOWN
    assert found.not_known[-1].startswith(f"the way from {NIC}")


def _guest(root: Path, *cliques: int | None) -> TreeHost:
    """Return a VM whose GPUs each have a root port of their own."""
    tree = TreeHost(root)
    tree.put("sys/devices/virtual/dmi/id/sys_vendor", "QEMU")
    for number, clique in enumerate(cliques):
        port = f"0000:00:0{number + 1}.0"
        gpu = _gpu(f"0000:0{number + 1}:00.0", L40S, below=port)
        if clique is not None:
            gpu.config.capability(0x09, b"\x08P2P" + bytes([clique << 3, 0]))
        tree.add(replace(root_port(port, acs=None)), gpu)
    return tree


def test_inside_of_a_vm_the_driver_wants_the_hypervisors_word(tmp_path: Path) -> None:
    found = _transport(_guest(tmp_path, None, None), "0000:01:00.0", "0000:02:00.0")

    assert found.means is Means.SHARED_MEMORY
    assert "x-nv-gpudirect-clique" in found.better[0].why


def test_with_its_word_nccls_distance_is_left(tmp_path: Path) -> None:
    found = _transport(_guest(tmp_path, 0, 0), "0000:01:00.0", "0000:02:00.0")

    assert "NCCL_P2P_LEVEL" in found.better[0].why


def test_its_word_for_two_cliques_is_none_for_both(tmp_path: Path) -> None:
    found = _transport(_guest(tmp_path, 0, 1), "0000:01:00.0", "0000:02:00.0")

    assert "x-nv-gpudirect-clique" in found.better[0].why
