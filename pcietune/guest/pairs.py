"""What pairs of a VM's functions may expect, and why no better.

A switch that QEMU emulates unlocks nothing between GPUs: NVIDIA's driver does not know it
(p2p_caps.c of its open kernel modules), and in a VM takes PCIe peer-to-peer only at the
hypervisor's word, a clique. NVLink is there only where a partition, or a whole board, has both.
"""

from collections.abc import Iterable, Iterator
from itertools import chain

import msgspec

from pcietune.address import PciAddress
from pcietune.guest.devices import Passed
from pcietune.guest.kinds import Backend, BridgeKind, Kind, NvSwitchModel
from pcietune.guest.nvswitch.tied import Tied, tied_by_nvlink
from pcietune.guest.plan import Expectation, Plan
from pcietune.model.access import HostAccess
from pcietune.model.fabric import Fabric
from pcietune.model.trace import Outcome
from pcietune.tune.paths.between_gpus import IS_NVLINK_UP
from pcietune.tune.paths.in_one_vm import pairs_in_one_vm
from pcietune.tune.paths.means import Means, Transport, by_pcie, why_it_fails, why_not_followed
from pcietune.tune.paths.nic_and_gpu import AS_THE_VM_SEES
from pcietune.tune.paths.view import Pair, Peer, PeerKind

_KINDS = {Kind.GPU: PeerKind.GPU, Kind.NIC: PeerKind.NIC}
_BY_PCIE = (Means.PEER_TO_PEER, Means.GPUDIRECT_RDMA)
_IOMMUFD_MAPS_PEERS = (7, 0)  # Linux
_TOPOLOGY_FILE = (
    "whether NCCL is told that the two are neighbours, which the VM's own tree does not show: "
    "NCCL_TOPO_FILE, as pcietune guest nccl writes it"
)
_MAPPING = (
    "whether the IOMMU maps the VM's other functions for each, which iommufd has done since Linux "
    "7.0: uname -r on the host"
)
_DISTANCE = (
    "whether NCCL goes as far: in the VM the two are below no common switch, and by itself it goes "
    "no farther than PXB (NCCL_P2P_LEVEL)"
)
_PROOF = (
    "whether what one GPU writes arrives at the other: nvidia-smi topo -p2p w, a copy that the "
    "receiving GPU checks, then all_reduce_perf -c 1 under a time limit; NCCL_P2P_DISABLE=1 is the "
    "way out"
)


def expect_pairs(host: HostAccess, fabric: Fabric, plan: Plan) -> list[Expectation]:
    """Return what each NIC and GPU, and each two GPUs, of a VM may expect.

    Args:
        host: The plan's.
        fabric: Its functions, with port types for all bridges above the VM's.
        plan: All but its pairs.
    """
    passed = {each.name: each for each in plan.functions if each.kind in _KINDS}
    peers = [_peer(fabric, each) for each in passed.values()]
    maps_peers = _maps_peers(host, plan.machine.backend)
    expected = []
    for pair, transport in pairs_in_one_vm(host, fabric, peers, maps_peers=maps_peers):
        both = (passed[pair.one.label], passed[pair.other.label])
        if pair.one.kind is PeerKind.GPU:
            told = _between_gpus(plan, pair, transport, both)
        else:
            told = _nic_and_gpu(plan, pair, transport, both)
        if maps_peers is None and told.means in _BY_PCIE:
            told = _depending_on(told, _MAPPING)
        expected.append(told)
    return expected


def _peer(fabric: Fabric, passed: Passed) -> Peer:
    function = fabric.functions[PciAddress.parse(passed.address)]
    return Peer(function, _KINDS[passed.kind], passed.name, passed.numa_node)


def _maps_peers(host: HostAccess, backend: Backend) -> bool | None:
    """Return whether VFIO maps the BARs of a VM's functions for each other; None if not known."""
    if backend is Backend.CONTAINER:
        return True
    release = host.platform().release
    return None if release is None else release >= _IOMMUFD_MAPS_PEERS


def _depending_on(told: Expectation, what: str) -> Expectation:
    return msgspec.structs.replace(told, not_known=[*told.not_known, what])


def _between_gpus(
    plan: Plan, pair: Pair, transport: Transport, both: tuple[Passed, Passed]
) -> Expectation:
    one, other = both
    tied = tied_by_nvlink(plan, pair.one.function, pair.other.function)
    if tied is not None and tied.holds:
        return Expectation(
            one=one.name,
            other=other.name,
            means=Means.NVLINK,
            bandwidth=tied.bandwidth,
            why=tied.why,
            not_known=list(tied.not_known),
        )
    if one.clique is not None and one.clique == other.clique:
        told = _vouched_for(pair, one.clique, _why_no_nvlink(transport, tied))
        far = told.means == Means.PEER_TO_PEER and not _are_near(plan, one, other)
        return _depending_on(told, _DISTANCE) if far else told
    does_without = tied is not None and plan.nvswitch.model is NvSwitchModel.NONE
    of_host = [each for each in transport.not_known if not (does_without and each == IS_NVLINK_UP)]
    not_known = [*of_host, *(() if tied is None else tied.not_known)]
    return Expectation(
        one=one.name,
        other=other.name,
        means=transport.means,
        bandwidth=transport.bandwidth,
        why="; ".join(_why_no_better(transport, tied)),
        not_known=not_known,
    )


def _vouched_for(pair: Pair, clique: int, why_no_nvlink: Iterable[str]) -> Expectation:
    """Return what follows from the operator's word, on which the driver acts in any case."""
    ways = (pair.now.forth.write, pair.now.back.write)
    word = (
        f"by clique {clique} the operator vouches for it, and NVIDIA's driver believes it untested"
    )
    means, bandwidth = Means.PEER_TO_PEER, f"{by_pcie(pair, ways)}, if clique {clique} is true"
    fails, unread = why_it_fails(ways), why_not_followed(ways)
    not_known = [_PROOF]
    limit = _why_by_the_iommu(pair)
    if fails is not None:
        means, bandwidth = Means.NONE, "none"
        word = f"{word}, but {fails}; take the clique away"
        not_known, limit = [], []
    elif unread is not None:
        means, bandwidth = Means.NOT_KNOWN, "not known"
        not_known.insert(0, unread)
    return Expectation(
        one=pair.one.label,
        other=pair.other.label,
        means=means,
        bandwidth=bandwidth,
        why="; ".join((word, *limit, *why_no_nvlink)),
        not_known=not_known,
    )


def _why_by_the_iommu(pair: Pair) -> list[str]:
    """Return why requests go through the IOMMU, which no word of anybody's can spare."""
    flows = (pair.now.forth, pair.now.back)
    without = [flow.sender for flow in flows if flow.sender.translated is False]
    return [f"requests go through the IOMMU: {without[0].why}"] if without else []


def _why_no_nvlink(transport: Transport, tied: Tied | None) -> Iterator[str]:
    for better in transport.better:
        if better.means is Means.NVLINK:
            yield f"not NVLink: {better.why if tied is None else tied.why}"


def _why_no_better(transport: Transport, tied: Tied | None) -> Iterator[str]:
    yield from _why_no_nvlink(transport, tied)
    for better in transport.better:
        if better.means is not Means.NVLINK:
            yield f"not {better.means}: {better.why}"
    yield from transport.advice


def _nic_and_gpu(
    plan: Plan, pair: Pair, transport: Transport, both: tuple[Passed, Passed]
) -> Expectation:
    one, other = both
    not_known = [each for each in transport.not_known if each != AS_THE_VM_SEES]
    bandwidth = transport.bandwidth
    if not _are_near(plan, one, other) and transport.means is Means.GPUDIRECT_RDMA:
        not_known.append(_TOPOLOGY_FILE)
        bandwidth = f"{bandwidth}, once NCCL has a topology file"
    why = chain(
        (f"not {better.means}: {better.why}" for better in transport.better),
        _why_not_direct(pair) if transport.means is Means.GPUDIRECT_RDMA else (),
        transport.advice,
    )
    return Expectation(
        one=one.name,
        other=other.name,
        means=transport.means,
        bandwidth=bandwidth,
        why="; ".join(why),
        not_known=not_known,
    )


def _why_not_direct(pair: Pair) -> Iterator[str]:
    """Yield why a NIC's writes to a GPU go through the root complex, if they do."""
    write = pair.now.forth.write
    if write.outcome is Outcome.VIA_ROOT_COMPLEX:
        at = "" if write.at is None else f" at {write.at.address}"
        yield (
            f"not direct{at}: {write.reason}; pcietune paths "
            f"{write.source.address} {write.target.address} names what makes them direct"
        )


def _are_near(plan: Plan, one: Passed, other: Passed) -> bool:
    """Return whether two functions are below a common switch of the VM."""
    return not _switches(plan, one).isdisjoint(_switches(plan, other))


def _switches(plan: Plan, passed: Passed) -> set[str]:
    """Return the names of the VM's switches that a function is below."""
    found = set()
    above = plan.bridge(passed.parent)
    while above is not None:
        if above.kind is BridgeKind.UPSTREAM_PORT:
            found.add(above.name)
        above = plan.bridge(above.parent)
    return found
