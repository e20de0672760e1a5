"""Expected: p2p_caps.c of NVIDIA's open kernel modules, NCCL's paths.cc, Fabric Manager's guide."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from guest.plans import passed, two_gpus_on_ports
from trees.config import ENDPOINT, ConfigBuilder
from trees.fabrics import cascade, two_switches
from trees.function import ACS_CAPABLE, Function, downstream_port, nic, nvswitch
from trees.host import TreeHost
from trees.machines import one_switch
from tune.judged import opened

from pcietune.guest.devices import Bridge, Passed
from pcietune.guest.kinds import Backend, BridgeKind, Kind, NvSwitchModel
from pcietune.guest.pairs import expect_pairs
from pcietune.guest.plan import Expectation, NvSwitchPlan, Plan
from pcietune.tune.match.survey import survey

GPUS = ("0000:25:00.0", "0000:29:00.0")  # of a cascade
A100, L40S, B300 = "10de:20b2", "10de:26b9", "10de:3182"
NO_PART = NvSwitchPlan(
    model=NvSwitchModel.NONE, board=None, switches=[], partition=None, modules={}, notes=[]
)
SHARED = msgspec.structs.replace(NO_PART, model=NvSwitchModel.SHARED, board="a100")


def _gpu(address: str, device: str, *, below: str) -> Function:
    return Function(address, ConfigBuilder(device, 0x030200).express(ENDPOINT), below=below)


def _two_gpus(root: Path, device: str, *, instead: Iterable[Function] = ()) -> TreeHost:
    gpus = [
        _gpu(GPUS[0], device, below="0000:24:00.0"),
        _gpu(GPUS[1], device, below="0000:28:00.0"),
    ]
    return cascade(root, instead=[*gpus, *instead])


def _given(name: str, address: str, *, parent: str = "dp0", clique: int | None = None) -> Passed:
    function = passed(name, address, "", parent, "0000:23:00.0")
    return msgspec.structs.replace(function, clique=clique)


def _two(clique: int | None = None, *, parents: tuple[str, str] = ("dp0", "dp1")) -> list[Passed]:
    return [
        _given(f"gpu{n}", address, parent=parents[n], clique=clique)
        for n, address in enumerate(GPUS)
    ]


def _plan(
    functions: list[Passed],
    nvswitch: NvSwitchPlan = NO_PART,
    *,
    backend: Backend = Backend.CONTAINER,
) -> Plan:
    """Return a plan of two switches: dp0 and dp1 below up0, dp9 below up9."""
    flat = two_gpus_on_ports()
    root = flat.bridges[1]
    rows = (
        ("rp7", BridgeKind.ROOT_PORT, "pxb0"),
        ("up0", BridgeKind.UPSTREAM_PORT, "rp7"),
        ("dp0", BridgeKind.DOWNSTREAM_PORT, "up0"),
        ("dp1", BridgeKind.DOWNSTREAM_PORT, "up0"),
        ("rp9", BridgeKind.ROOT_PORT, "pxb0"),
        ("up9", BridgeKind.UPSTREAM_PORT, "rp9"),
        ("dp9", BridgeKind.DOWNSTREAM_PORT, "up9"),
    )
    bridges: list[Bridge] = [
        msgspec.structs.replace(root, name=name, kind=kind, parent=parent)
        for name, kind, parent in rows
    ]
    machine = msgspec.structs.replace(flat.machine, backend=backend)
    return msgspec.structs.replace(
        flat,
        functions=functions,
        bridges=[*flat.bridges, *bridges],
        nvswitch=nvswitch,
        machine=machine,
    )


def _pairs(tree: TreeHost, plan: Plan) -> list[Expectation]:
    host = opened(tree)
    return expect_pairs(host, survey(host, lambda functions: functions), plan)


def _pair(tree: TreeHost, plan: Plan) -> Expectation:
    (found,) = _pairs(tree, plan)
    return found


def test_an_emulated_switch_gives_two_gpus_no_peer_to_peer(tmp_path: Path) -> None:
    found = _pair(_two_gpus(tmp_path, L40S), _plan(_two()))

    assert found.means == "shared memory"
    assert "not PCIe peer-to-peer" in found.why
    assert "104c:8232" in found.why
    assert "x-nv-gpudirect-clique" in found.why


def test_gpus_without_ats_would_go_through_the_iommu_even_then(tmp_path: Path) -> None:
    assert "through the IOMMU" in _pair(_two_gpus(tmp_path, L40S), _plan(_two())).why


def test_a_clique_is_the_operators_word_and_to_be_proved(tmp_path: Path) -> None:
    found = _pair(_two_gpus(tmp_path, L40S), _plan(_two(clique=0)))

    assert found.means == "PCIe peer-to-peer"
    assert found.bandwidth.startswith("about half of the narrowest link")
    assert found.bandwidth.endswith(", if clique 0 is true")
    assert "clique 0" in found.why
    assert "the operator vouches" in found.why
    assert "through the IOMMU" in found.why
    (proof,) = found.not_known
    assert "all_reduce_perf -c 1" in proof
    assert "NCCL_P2P_DISABLE=1" in proof


def test_two_cliques_are_no_word_for_both(tmp_path: Path) -> None:
    functions = [_given("gpu0", GPUS[0], clique=0), _given("gpu1", GPUS[1], clique=1)]

    assert _pair(_two_gpus(tmp_path, L40S), _plan(functions)).means == "shared memory"


@pytest.mark.parametrize("parents", [("rp0", "rp1"), ("dp0", "dp9")])
def test_beyond_a_switch_nccl_may_not_go_by_the_clique(
    tmp_path: Path, parents: tuple[str, str]
) -> None:
    found = _pair(_two_gpus(tmp_path, L40S), _plan(_two(clique=0, parents=parents)))

    assert "NCCL_P2P_LEVEL" in found.not_known[-1]


def test_a_clique_over_a_way_that_fails_is_to_be_taken_away(tmp_path: Path) -> None:
    open_ports = [
        downstream_port(port, below=above, acs=(ACS_CAPABLE, 0x0001))
        for port, above in (("0000:24:00.0", "0000:23:00.0"), ("0000:22:00.0", "0000:21:00.0"))
    ]
    tree = _two_gpus(tmp_path, L40S, instead=open_ports)
    found = _pair(tree, _plan(_two(clique=0)))

    assert found.means == "nothing"
    assert "misrouted at 0000:24:00.0" in found.why
    assert found.why.endswith("take the clique away")


def test_what_cannot_be_read_is_not_known_even_in_a_clique(tmp_path: Path) -> None:
    tree = _two_gpus(tmp_path, L40S)
    config = bytearray(tree.config("0000:24:00.0").read_bytes())
    config[0x100:0x104] = b"\x0d\x00\x01\x08"  # the next capability is at 080h, where none may be
    tree.config("0000:24:00.0").write_bytes(bytes(config))
    found = _pair(tree, _plan(_two(clique=0)))

    assert found.means == "not known"
    assert found.not_known[0].startswith("the way from")


def test_the_gpus_of_a_partition_have_nvlink_once_it_is_active(tmp_path: Path) -> None:
    part = msgspec.structs.replace(SHARED, partition=11, modules={"gpu0": 1, "gpu1": 2})
    found = _pair(_two_gpus(tmp_path, A100), _plan(_two(), part))

    assert found.means == "NVLink"
    assert found.bandwidth == "600 GB/s of a GPU's 12 NVLinks, both directions (data sheet)"
    assert found.why == "partition 11 (modules 1, 2) has both"
    assert "active before the VM's driver loads: fmpm -l" in found.not_known[0]
    assert "MIG" in found.not_known[1]


def test_a_board_whose_bandwidth_no_data_sheet_tells_has_none_named(tmp_path: Path) -> None:
    part = msgspec.structs.replace(SHARED, board="blackwell", partition=4)
    found = _pair(_two_gpus(tmp_path, B300), _plan(_two(), part))

    assert (found.means, found.bandwidth) == ("NVLink", "that of their NVLinks, which is not known")


def test_without_a_partition_nvlink_is_not_promised(tmp_path: Path) -> None:
    tree = _two_gpus(tmp_path, A100)
    tree.add(nvswitch("0000:26:00.1", below="0000:24:04.0"))
    found = _pair(tree, _plan(_two(), SHARED))

    assert found.means == "shared memory"
    assert "not NVLink: only where a partition has both" in found.why
    assert "pcietune record --nvidia" in found.not_known[-1]


def test_a_clique_beside_a_partition_that_is_not_known_stands_alone(tmp_path: Path) -> None:
    tree = _two_gpus(tmp_path, A100)
    tree.add(nvswitch("0000:26:00.1", below="0000:24:04.0"))
    found = _pair(tree, _plan(_two(clique=0), SHARED))

    assert found.means == "PCIe peer-to-peer"
    assert "not NVLink: only where a partition has both" in found.why


def test_a_vm_that_does_without_nvlink_has_none(tmp_path: Path) -> None:
    tree = _two_gpus(tmp_path, A100)
    tree.add(nvswitch("0000:26:00.1", below="0000:24:04.0"))
    part = msgspec.structs.replace(NO_PART, board="a100")

    found = _pair(tree, _plan(_two(), part))
    assert "not NVLink: this VM does without" in found.why
    assert found.not_known == []


@pytest.mark.parametrize(
    ("board", "switches", "means"),
    [("a100", 1, "NVLink"), ("a100", 2, "shared memory"), ("hopper", 1, "shared memory")],
)
def test_nvswitches_given_whole_tie_gpus_in_the_guides_shapes_alone(
    tmp_path: Path, board: str, switches: int, means: str
) -> None:
    tree = _two_gpus(tmp_path, A100)
    tree.add(nvswitch("0000:26:00.1", below="0000:24:04.0"))
    part = msgspec.structs.replace(SHARED, board=board, model=NvSwitchModel.FULL)
    whole = [
        msgspec.structs.replace(_given("gpu9", "0000:26:00.1"), name=f"nvswitch{n}", kind=kind)
        for n, kind in enumerate([Kind.NVSWITCH] * switches)
    ]
    found = _pair(tree, _plan([*_two(), *whole], part))

    assert found.means == means
    if found.means == "NVLink":  # 2 of 12 links
        assert found.bandwidth.startswith("100 GB/s of a GPU's 2 NVLinks")


def test_links_that_the_guide_does_not_count_have_no_bandwidth(tmp_path: Path) -> None:
    tree = _two_gpus(tmp_path, "10de:20f3")
    tree.add(nvswitch("0000:26:00.1", below="0000:24:04.0"))
    part = msgspec.structs.replace(SHARED, board="a800", model=NvSwitchModel.FULL)
    switch = _given("gpu9", "0000:26:00.1")
    switch = msgspec.structs.replace(switch, name="nvswitch0", kind=Kind.NVSWITCH)
    found = _pair(tree, _plan([*_two(), switch], part))

    assert (found.means, found.bandwidth) == ("NVLink", "that of their NVLinks, which is not known")


NIC, NIC_PORT, GPU = "0000:24:00.0", "0000:22:04.0", "0000:23:00.0"


def _nic_and_gpu(
    root: Path,
    control: int = 0x005D,
    *,
    parents: tuple[str, str] = ("dp0", "dp1"),
    backend: Backend = Backend.CONTAINER,
    release: str | None = None,
) -> Expectation:
    """Return what they may expect; without a release the host's kernel is not known."""
    port = downstream_port(NIC_PORT, below="0000:21:00.0", acs=(ACS_CAPABLE, control))
    tree = one_switch(root, driver="nvidia", instead=[port, nic(NIC, below=NIC_PORT)])
    if release is None:
        (root / "proc/sys/kernel/osrelease").unlink()
    else:
        tree.put("proc/sys/kernel/osrelease", release)
    functions = [_given("gpu0", GPU, parent=parents[0]), _given("nic0", NIC, parent=parents[1])]
    return _pair(tree, _plan(functions, backend=backend))


def test_a_nic_that_asks_for_translations_goes_past_the_iommu_whoever_has_it_now(
    tmp_path: Path,
) -> None:
    found = _nic_and_gpu(tmp_path)

    assert (found.one, found.other, found.means) == ("nic0", "gpu0", "GPUDirect RDMA")
    assert found.bandwidth == "that of the narrowest link between them"
    assert "NCCL_IB_PCI_RELAXED_ORDERING=1" in found.why
    assert "not direct" not in found.why
    (peermem,) = found.not_known
    assert "nvidia_peermem" in peermem


def test_without_directtrans_it_is_about_half_and_the_port_is_named(tmp_path: Path) -> None:
    found = _nic_and_gpu(tmp_path, 0x001D)

    assert found.bandwidth.startswith("about half")
    assert found.why.startswith(f"not direct at {NIC_PORT}: ReqRedir+ ")
    assert f"pcietune paths {NIC} {GPU}" in found.why


@pytest.mark.parametrize("parents", [("rp0", "rp1"), ("dp0", "dp9"), ("dp0", "rp1")])
def test_below_ports_of_their_own_nccl_needs_a_topology_file(
    tmp_path: Path, parents: tuple[str, str]
) -> None:
    found = _nic_and_gpu(tmp_path, parents=parents)

    assert "pcietune guest nccl" in found.not_known[-1]
    assert found.bandwidth.endswith(", once NCCL has a topology file")


@pytest.mark.parametrize(
    ("release", "means", "asks"),
    [
        ("6.12.0", "host memory", False),  # maps no BAR of a peer
        ("7.0.1", "GPUDirect RDMA", False),
        (None, "GPUDirect RDMA", True),
    ],
)
def test_by_iommufd_the_kernel_decides_whether_a_nic_reaches_a_gpu(
    tmp_path: Path, release: str | None, means: str, *, asks: bool
) -> None:
    found = _nic_and_gpu(tmp_path, 0x001D, backend=Backend.IOMMUFD, release=release)

    assert found.means == means
    assert ("uname -r" in found.not_known[-1]) is asks


def test_a_nic_below_another_host_bridge_copies_through_memory(tmp_path: Path) -> None:
    functions = [_given("gpu0", "0000:23:00.0"), _given("nic0", "0000:44:00.0", parent="dp9")]
    found = _pair(two_switches(tmp_path), _plan(functions))

    assert found.means == "host memory"
    assert "not GPUDirect RDMA" in found.why
    assert not any("pcietune guest nccl" in each for each in found.not_known)


def test_a_vf_that_cannot_ask_for_translations_is_not_taken_for_its_pf(tmp_path: Path) -> None:
    port = downstream_port(NIC_PORT, below="0000:21:00.0", acs=(ACS_CAPABLE, 0x005D))
    tree = one_switch(tmp_path, instead=[port])
    vf = nic("0000:24:00.1", below=NIC_PORT, ats=None)
    tree.add(replace(vf, physical_function=NIC, group=9, iommu="dmar0"))

    def bandwidth(address: str) -> str:
        functions = [_given("gpu0", GPU), _given("nic0", address)]
        return _pair(tree, _plan(functions)).bandwidth

    assert bandwidth(NIC) == "that of the narrowest link between them"
    assert bandwidth("0000:24:00.1").startswith("about half")


def test_companions_and_nvswitches_are_in_no_pair(tmp_path: Path) -> None:
    others = [
        msgspec.structs.replace(_given("gpu0", GPU), name="gpu0-1", kind=Kind.COMPANION),
        msgspec.structs.replace(_given("gpu0", GPU), name="nvswitch0", kind=Kind.NVSWITCH),
    ]
    functions = [_given("gpu0", GPU), *others, _given("nic0", NIC)]

    found = _pairs(one_switch(tmp_path), _plan(functions))

    assert [(each.one, each.other) for each in found] == [("nic0", "gpu0")]


def test_nics_come_first_and_each_two_gpus_once(tmp_path: Path) -> None:
    tree = cascade(tmp_path, second_nic=True)
    nics = [_given("nic0", "0000:26:00.0"), _given("nic1", "0000:2a:00.0")]

    found = _pairs(tree, _plan([*_two(), *nics]))

    assert [f"{each.one}-{each.other}" for each in found] == [
        "nic0-gpu0",
        "nic0-gpu1",
        "nic1-gpu0",
        "nic1-gpu1",
        "gpu0-gpu1",
    ]
