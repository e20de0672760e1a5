"""By what two GPUs exchange data, as NCCL and NVIDIA's driver choose.

The driver's gates are those of p2p_caps.c in NVIDIA's open kernel modules: in a VM it takes PCIe
peer-to-peer only where the hypervisor vouches for it.
"""

from pcietune.tune.paths.means import (
    NEAR,
    Better,
    Means,
    Surroundings,
    Transport,
    by_pcie,
    is_for_a_vm,
    why_it_fails,
    why_not_followed,
)
from pcietune.tune.paths.nvlink import AMD, NVIDIA, Links, Tie, is_slow_by_pcie, links_between
from pcietune.tune.paths.view import Pair

_BY_MEMORY = "10 to 20 GB/s, both directions together (estimate)"
_FEW = 2  # GPUs, with which NCCL goes any distance on an AMD host
IS_NVLINK_UP = "whether NVLink is up, and not off by MIG: nvidia-smi nvlink -s, nvidia-smi topo -m"
_PLUGGED = "whether a bridge ties them: nvidia-smi nvlink -s, nvidia-smi topo -m"
_PARTITION = (
    "only where a partition of Fabric Manager's has both, activated before the VM's driver loads; "
    "without one there is none"
)
_GATE = (
    "NVIDIA's driver in a VM takes it only where the hypervisor vouches for both GPUs "
    "(x-nv-gpudirect-clique, an opt-in that nothing checks); an emulated switch, 104c:8232, is "
    "none that it knows"
)
_MEASURE = (
    "between such GPUs PCIe peer-to-peer was seen below shared memory, 10 against 20 GB/s: rank by "
    "measurement, all_reduce_perf -c 1 with and without NCCL_P2P_DISABLE=1"
)
_PROVE = (
    "prove it before it is used, since a wrong word means hangs or wrong data: all_reduce_perf "
    "-c 1 under a time limit; NCCL_P2P_DISABLE=1 is the way out"
)


def between_gpus(pair: Pair, surroundings: Surroundings) -> Transport:
    """Return what a pair of GPUs can count on."""
    one, other = pair.one.function, pair.other.function
    links = links_between(one, other, nvswitches=surroundings.nvswitches)
    in_a_vm = surroundings.in_a_vm or is_for_a_vm(pair)
    if links.tie in (Tie.SWITCHES, Tie.BOARD) and not in_a_vm:
        return Transport(Means.NVLINK, _by_nvlink(links), not_known=(IS_NVLINK_UP,))
    better, not_known = _beyond_pcie(pair, links)
    ways = (pair.now.forth.write, pair.now.back.write)
    obstacle = _why_no_peer(pair, surroundings)
    if obstacle is not None:
        better += (Better(Means.PEER_TO_PEER, by_pcie(pair, ways), obstacle),)
        return Transport(Means.SHARED_MEMORY, _BY_MEMORY, better, not_known)
    unread = why_not_followed(ways)
    if unread is not None:
        return Transport(Means.NOT_KNOWN, "not known", better, (*not_known, unread))
    told = ((_MEASURE, is_slow_by_pcie(one, other)), (_PROVE, in_a_vm))
    advice = tuple(text for text, holds in told if holds)
    return Transport(Means.PEER_TO_PEER, by_pcie(pair, ways), better, not_known, advice)


def _beyond_pcie(pair: Pair, links: Links) -> tuple[tuple[Better, ...], tuple[str, ...]]:
    """Return what may tie the two beside PCIe though it cannot be counted on, and what tells."""
    if links.tie in (Tie.SWITCHES, Tie.BOARD):
        return (Better(Means.NVLINK, _by_nvlink(links), _PARTITION),), (IS_NVLINK_UP,)
    if links.tie is Tie.BRIDGE:
        why = "only with a bridge between the two, which PCI does not show"
        return (Better(Means.NVLINK, _by_nvlink(links), why),), (_PLUGGED,)
    vendors = (pair.one.function.vendor, pair.other.function.vendor)
    if links.tie is Tie.NOT_KNOWN and NVIDIA in vendors:
        return (), (_PLUGGED,)
    return (), ("whether xGMI ties them: rocm-smi --showtopo",) if AMD in vendors else ()


def _by_nvlink(links: Links) -> str:
    if links.bandwidth is None:
        return "that of their NVLinks, which PCI does not tell"
    return f"{links.bandwidth} GB/s of a GPU's links together, both directions (data sheet)"


def _why_no_peer(pair: Pair, surroundings: Surroundings) -> str | None:
    """Return why PCIe peer-to-peer is not chosen; None if nothing is known to keep it away."""
    one, other = pair.one.function, pair.other.function
    if one.vendor != other.vendor:
        return "they are different vendors'"
    if one.vendor == NVIDIA and surroundings.in_a_vm and not _is_vouched_for(pair, surroundings):
        return _GATE
    if one.vendor == NVIDIA and is_for_a_vm(pair):
        return f"{_GATE}{_behind_the_iommu(pair)}"
    any_distance = surroundings.amd and surroundings.gpus <= _FEW
    if pair.place not in NEAR and not any_distance and not is_for_a_vm(pair):
        return f"they are {pair.place} apart, and NCCL goes no farther than PXB (NCCL_P2P_LEVEL)"
    return why_it_fails((pair.now.forth.write, pair.now.back.write))


def _is_vouched_for(pair: Pair, surroundings: Surroundings) -> bool:
    cliques = surroundings.cliques or {}
    clique = cliques.get(pair.one.function.address)
    return clique is not None and clique == cliques.get(pair.other.function.address)


def _behind_the_iommu(pair: Pair) -> str:
    """Return that requests go through the IOMMU even then, which the driver's word cannot spare."""
    flows = (pair.now.forth, pair.now.back)
    without = [flow.sender for flow in flows if flow.sender.translated is False]
    if not without:
        return ""
    whose = "requests" if len(without) > 1 else f"requests of {without[0].function.address}"
    return f"; even then {whose} go through the IOMMU: {without[0].why}"
