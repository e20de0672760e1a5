"""Lay two hosts beside each other."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from pcietune.address import PciAddress
from pcietune.model.not_known import NOT_KNOWN
from pcietune.tune.diff.difference import Diff, Difference, NotTold, Subject, in_order
from pcietune.tune.diff.fact import Change, Fact, Kind, Untold, lay_beside
from pcietune.tune.diff.host_facts import HOST, command_line_facts, host_facts, unit_facts
from pcietune.tune.diff.membership import membership_changes
from pcietune.tune.diff.pairing import Pairing, pair
from pcietune.tune.diff.routes import route_changes
from pcietune.tune.diff.side import Known, Side

_PRESENCE = "presence"
_Found = tuple[Subject, Change | Untold]


def compare(before: Side, after: Side, kinds: Collection[Kind] = tuple(Kind)) -> Diff:
    """Return how the host after differs from the one before, in facts of the kinds asked for."""
    pairing = pair(before, after)
    found = [*_of_the_hosts(before, after), *_of_functions(pairing, before, after)]
    differences = [*_present(pairing)]
    untold: Counter[Untold] = Counter()
    for subject, what in found:
        match what:
            case Change():
                differences.append(Difference(subject, what))
            case Untold():
                untold[what] += 1
    routes: int | None = None
    if before.paths is not None and after.paths is not None:
        ways = route_changes(before.paths, after.paths, pairing, _by_address(found))
        differences += ways.differences
        untold.update(ways.untold)
        routes = ways.compared
    return Diff(
        differences=in_order([each for each in differences if each.change.kind in kinds]),
        not_told=tuple(
            NotTold(what, count) for what, count in untold.items() if what.kind in kinds
        ),
        moved=tuple(_subject(one, other) for one, other in pairing.moved),
        compared=len(pairing.pairs),
        routes=routes,
    )


def _of_the_hosts(before: Side, after: Side) -> Iterator[_Found]:
    host = Subject(HOST)
    one, other = before.platform, after.platform
    for what in (
        *lay_beside(host_facts(one, other), host_facts(other, one)),
        *lay_beside(command_line_facts(one, other), command_line_facts(other, one)),
    ):
        yield host, what
    ours, theirs = one.iommu_units, other.iommu_units
    if before.complete and after.complete:
        for name in sorted(ours.keys() ^ theirs.keys()):
            there = (("there", None), (None, "there"))[name in theirs]
            yield Subject(name), Change(Kind.IOMMU, "IOMMU unit", *there)
    else:
        yield host, Untold(Kind.IOMMU, "IOMMU units", not before.complete, not after.complete)
    for name in sorted(ours.keys() & theirs.keys()):
        for what in lay_beside(unit_facts(ours[name]), unit_facts(theirs[name])):
            yield Subject(name), what


def _of_functions(pairing: Pairing, before: Side, after: Side) -> Iterator[_Found]:
    for one, other in pairing.pairs:
        if one.function.location != other.function.location:
            for what in lay_beside([_place(one, before)], [_place(other, after)]):
                yield _subject(one, other), what
        for what in lay_beside(one.facts, other.facts):
            yield _subject(one, other), what
    for one, other, what in membership_changes(pairing, before, after):
        yield _subject(one, other), what


def _place(known: Known, side: Side) -> Fact:
    """Return where a function is; a dump may lack the bridges above it."""
    told = side.complete or known.function.ports
    return Fact(Kind.FUNCTION, "location", known.function.location if told else NOT_KNOWN)


def _by_address(found: Iterable[_Found]) -> Mapping[PciAddress, Sequence[Change]]:
    """Return what differs by the address, before, of the function that it is about."""
    changes: dict[PciAddress, list[Change]] = {}
    for subject, what in found:
        if isinstance(what, Change) and subject.before is not None:
            changes.setdefault(subject.before, []).append(what)
    return changes


def _present(pairing: Pairing) -> Iterator[Difference]:
    for known in pairing.only_before:
        gone = Change(Kind.FUNCTION, _PRESENCE, _what(known), None)
        yield Difference(_subject(known, None), gone)
    for known in pairing.only_after:
        new = Change(Kind.FUNCTION, _PRESENCE, None, _what(known))
        yield Difference(_subject(None, known), new)


def _what(known: Known) -> str:
    return f"{known.function.id} class {known.function.device_class:04x}"


def _subject(one: Known | None, other: Known | None) -> Subject:
    places = [known.function for known in (one, other) if known is not None]
    return Subject(
        places[0].location,
        None if one is None else one.function.address,
        None if other is None else other.function.address,
    )
