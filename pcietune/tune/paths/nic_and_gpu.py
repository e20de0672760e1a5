"""By what a NIC gets at a GPU's memory, as NCCL chooses.

In a VM, NVIDIA's driver lets a NIC at its memory whatever the tree (nv-pci.c and p2p_caps.c of its
open kernel modules), so that NCCL's distance and the host's ports decide.
"""

from pcietune.model.trace import Outcome
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
from pcietune.tune.paths.nvlink import NVIDIA
from pcietune.tune.paths.view import Pair

_COPIED = "less than the link, since all is copied through memory; not estimated"
_PEERMEM = (
    "whether the driver lets the NIC at the GPU's memory: lsmod | grep nvidia_peermem, or DMA-BUF "
    "(NCCL_DEBUG=INFO says GPU Direct RDMA Enabled), where the job runs"
)
AS_THE_VM_SEES = (
    "how far apart the VM sees the two: below root ports of their own they are PHB to NCCL, which "
    "then goes by host memory; emulate the switch, or give it NCCL_TOPO_FILE: nvidia-smi topo -m"
)
_COMES_BACK = (
    "what the NIC reads of the GPU (RDMA send) comes back direct only with Relaxed Ordering, which "
    "CmpltRedir lets pass"
)
_ASK_FOR_RELAXED = f"{_COMES_BACK}: NCCL_IB_PCI_RELAXED_ORDERING=1"
_OTHERS = "whether the GPU's driver lets the NIC at its memory: PCI does not tell"


def nic_and_gpu(pair: Pair, surroundings: Surroundings) -> Transport:
    """Return what a NIC and a GPU, in this order, can count on."""
    flow = pair.now.forth
    ways = (flow.write, flow.read)
    not_known = [_PEERMEM if pair.other.function.vendor == NVIDIA else _OTHERS]
    if is_for_a_vm(pair):
        not_known.append(AS_THE_VM_SEES)
    obstacle = why_it_fails((*ways, flow.completion)) or _why_too_far(pair, surroundings)
    if obstacle is not None:
        better = (Better(Means.GPUDIRECT_RDMA, by_pcie(pair, ways), obstacle),)
        advice = tuple(_by_another_gpu(pair, surroundings))
        return Transport(Means.HOST_MEMORY, _COPIED, better, tuple(not_known), advice)
    unread = why_not_followed(ways)
    if unread is not None:
        return Transport(Means.NOT_KNOWN, "not known", (), (*not_known, unread))
    advice = tuple(_relaxed_ordering(pair))
    return Transport(Means.GPUDIRECT_RDMA, by_pcie(pair, ways), (), tuple(not_known), advice)


def _why_too_far(pair: Pair, surroundings: Surroundings) -> str | None:
    if pair.place in NEAR:
        return None
    seen = ", as this VM sees them" if surroundings.in_a_vm else ""
    return (
        f"they are {pair.place} apart{seen}, and NCCL goes no farther than PXB (NCCL_NET_GDR_LEVEL)"
    )


def _by_another_gpu(pair: Pair, surroundings: Surroundings) -> list[str]:
    if pair.place in NEAR or not surroundings.nvswitches or is_for_a_vm(pair):
        return []
    return ["NCCL may go by NVLink to a GPU beside the NIC instead, which it calls PXN"]


def _relaxed_ordering(pair: Pair) -> list[str]:
    """Return what makes answers direct that CmpltRedir sends up; on bare metal nothing does."""
    flow = pair.now.forth
    if flow.completion.outcome is not Outcome.VIA_ROOT_COMPLEX or not flow.write.is_direct:
        return []
    if flow.relaxed is not None and flow.relaxed.is_direct:
        return [_ASK_FOR_RELAXED]
    if flow.sender.relaxed_ordering is False:
        return [f"{_COMES_BACK}: RlxdOrd- of {flow.sender.function.address} allows none"]
    return []
