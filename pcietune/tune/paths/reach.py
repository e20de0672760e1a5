"""Requests that get past the IOMMU between functions that are taken to be apart."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from pcietune.address import PciAddress
from pcietune.model.function import PciFunction
from pcietune.model.port_controls import PortControls
from pcietune.model.trace import Outcome, Trace
from pcietune.registers.acs import AcsControl
from pcietune.tune.paths.ownership import Claim, Owner, strongest_claim

PAST_THE_IOMMU = (Outcome.DIRECT, Outcome.TURNED_ABOVE)


@dataclass(frozen=True, slots=True)
class Reach:
    """Ports, or functions of a device, at which requests pass by the IOMMU.

    Attributes:
        ports: They, in the order of addresses.
        why: What of each lets them pass: ``ReqRedir-``.
        senders: Functions whose requests they let pass, in the order of addresses.
        targets: Functions that each sender reaches, but for itself and others of its device.
        claim: The most that any sender and any target are taken to be apart by.
    """

    ports: tuple[PciFunction, ...]
    why: str
    senders: tuple[PciFunction, ...]
    targets: tuple[PciFunction, ...]
    claim: Claim


def reach(
    way: Trace,
    controls: PortControls,
    senders: Sequence[PciFunction],
    targets: Sequence[PciFunction],
    owners: Mapping[PciAddress, Owner],
) -> Reach | None:
    """Return what a way means for all functions that it stands for; None if none are apart.

    Args:
        way: How a request of one of the senders to one of the targets ended.
        controls: The ACS of the port that decided.
        senders: What sends by that way.
        targets: What it leads to.
        owners: Whom each of them belongs to.
    """
    ours = {owners[one.address] for one in senders}
    theirs = {owners[other.address] for other in targets}
    claim = strongest_claim(ours, theirs)
    if claim is None:
        return None
    return Reach(
        (way.source if way.at is None else way.at,),
        _why(way, controls),
        tuple(one for one in senders if strongest_claim([owners[one.address]], theirs)),
        tuple(other for other in targets if strongest_claim(ours, [owners[other.address]])),
        claim,
    )


def joined(reaches: Iterable[Reach]) -> tuple[Reach, ...]:
    """Return the same in fewer; each that comes in has senders of one device only."""
    found = _merged(reaches, lambda each: (each.ports, each.why, each.senders))
    found = _merged(found, lambda each: (each.why, frozenset((*each.senders, *each.targets))))
    found = _merged(found, lambda each: (each.ports, each.why, each.targets))
    return tuple(sorted(found, key=lambda each: each.ports[0].address))


def _merged(
    reaches: Iterable[Reach], likeness: Callable[[Reach], tuple[object, ...]]
) -> list[Reach]:
    merged: dict[tuple[object, ...], Reach] = {}
    for each in reaches:
        key = likeness(each)
        known = merged.get(key)
        merged[key] = each if known is None else _both(known, each)
    return list(merged.values())


def _both(one: Reach, other: Reach) -> Reach:
    claims = (one.claim, other.claim)
    return replace(
        one,
        ports=_in_order((*one.ports, *other.ports)),
        senders=_in_order((*one.senders, *other.senders)),
        targets=_in_order((*one.targets, *other.targets)),
        claim=next(claim for claim in Claim if claim in claims),
    )


def _in_order(functions: Iterable[PciFunction]) -> tuple[PciFunction, ...]:
    return tuple(sorted(set(functions), key=lambda function: function.address))


def _why(way: Trace, controls: PortControls) -> str:
    if way.outcome is Outcome.UNKNOWN:
        return way.reason
    if way.control is None:
        return "nothing keeps neighbours apart there"
    if not controls.present:
        return "no ACS capability"
    decided = (step for step in way.steps if step.control is way.control and step.port == way.at)
    name = next(step.control_text for step in decided)
    if way.control is AcsControl.P2P_EGRESS_CONTROL:
        return f"{name}, and the vector lets these pass"
    return name
