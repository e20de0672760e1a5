"""What a collective library moves data by between two functions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from pcietune.address import PciAddress
from pcietune.model.packet import AddressSpace
from pcietune.model.trace import Outcome, Trace
from pcietune.tune.paths.place import Place
from pcietune.tune.paths.view import Pair

NEAR = (Place.SAME, Place.PIX, Place.PXB)
"""As far apart as NCCL goes by PCIe peer-to-peer or GPUDirect RDMA, unless it is told otherwise
(2.23 and later, src/graph/paths.cc)."""

_FAILS = (Outcome.BLOCKED, Outcome.MISROUTED)


class Means(StrEnum):
    """What data goes by."""

    NVLINK = "NVLink"
    PEER_TO_PEER = "PCIe peer-to-peer"
    SHARED_MEMORY = "shared memory"
    GPUDIRECT_RDMA = "GPUDirect RDMA"
    HOST_MEMORY = "host memory"
    NONE = "nothing"
    NOT_KNOWN = "not known"


@dataclass(frozen=True, slots=True)
class Better:
    """Something better that cannot be counted on.

    Attributes:
        means: What.
        bandwidth: Its class, in words.
        why: Why it is not to be had, or what it depends on.
    """

    means: Means
    bandwidth: str
    why: str


@dataclass(frozen=True, slots=True)
class Transport:
    """What a pair's data goes by.

    Attributes:
        means: What can be counted on.
        bandwidth: Its class, in words: an estimate, or a data sheet's.
        better: What would be better, the best first.
        not_known: What the choice depends on and PCI does not tell, each with what tells it.
        advice: What else to do for it.
    """

    means: Means
    bandwidth: str
    better: tuple[Better, ...] = ()
    not_known: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What of a host decides beside a pair's own ways.

    Attributes:
        nvswitches: Whether any NVSwitch is a function of it.
        gpus: How many GPUs it has.
        amd: Whether its IOMMUs, and so its processors, are AMD's.
        in_a_vm: Whether it is a VM itself.
        cliques: The clique of each GPU for which a hypervisor vouches.
    """

    nvswitches: bool
    gpus: int
    amd: bool = False
    in_a_vm: bool = False
    cliques: Mapping[PciAddress, int] | None = None


def is_for_a_vm(pair: Pair) -> bool:
    """Return whether a VM has, or will have, the two."""
    flows = (pair.now.forth, pair.now.back)
    return any(flow.sender.address is AddressSpace.GUEST for flow in flows)


def why_it_fails(ways: Sequence[Trace]) -> str | None:
    """Return why requests never arrive where they should; None if they do."""
    for way in ways:
        if way.outcome in _FAILS:
            at = "" if way.at is None else f" at {way.at.address}"
            return f"{way.source.address}'s requests are {way.outcome}{at}: {way.reason}"
    return None


def why_not_followed(ways: Sequence[Trace]) -> str | None:
    """Return why it is not known where requests go; None if it is."""
    unknown = next((way for way in ways if way.outcome is Outcome.UNKNOWN), None)
    if unknown is None:
        return None
    at = "" if unknown.at is None else f", at {unknown.at.address}"
    return f"the way from {unknown.source.address}{at}: {unknown.reason}"


def by_pcie(pair: Pair, ways: Sequence[Trace]) -> str:
    """Return the class of ways through PCIe, in words."""
    if all(way.outcome is not Outcome.VIA_ROOT_COMPLEX for way in ways):
        return "that of the narrowest link between them"
    if pair.place in NEAR:
        return "about half of the narrowest link (estimate): up to the root complex and down again"
    return "at most that of the narrowest link (estimate): through the root complex"
