"""Pairs of GPUs, NICs and drives whose packets go another way than before, and by what."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pcietune.address import PciAddress
from pcietune.model.not_known import NOT_KNOWN, NotKnown
from pcietune.model.trace import Outcome, Trace
from pcietune.tune.diff.difference import Difference, Subject
from pcietune.tune.diff.fact import Change, Fact, Kind, Untold, lay_beside
from pcietune.tune.diff.function_facts import ATS_CAPABILITY
from pcietune.tune.diff.pairing import Pairing
from pcietune.tune.paths.flow import Flow
from pcietune.tune.paths.view import PathsView, Peer

_OF_A_SENDER = frozenset({ATS_CAPABILITY, "ATS Enable", "RlxdOrd", "driver", "group type"})
"""What decides about a route beside the ports: whether requests are translated, and how."""
Changes = Mapping[PciAddress, Sequence[Change]]
"""What else differs, by a function's address before."""
_Route = tuple[PciAddress, PciAddress]


@dataclass(frozen=True, slots=True)
class RouteChanges:
    """What became of the routes of two hosts.

    Attributes:
        differences: Of those that end otherwise.
        untold: Of those of which one host's source does not tell.
        compared: How many were laid beside each other, each direction of a pair for itself, of
            which both hosts' sources tell all.
    """

    differences: tuple[Difference, ...]
    untold: tuple[Untold, ...]
    compared: int


@dataclass(frozen=True, slots=True)
class _Directed:
    """One direction of a pair."""

    sender: Peer
    completer: Peer
    flow: Flow

    @property
    def traces(self) -> Mapping[str, Trace]:
        """The packets' ways by what they are called."""
        return {
            "write": self.flow.write,
            "read request": self.flow.read,
            "completion": self.flow.completion,
        }


def route_changes(
    before: PathsView, after: PathsView, pairing: Pairing, changes: Changes
) -> RouteChanges:
    """Return which routes differ, of the pairs that both hosts have."""
    now = {one.function.address: other.function.address for one, other in pairing.pairs}
    theirs = _directed(after)
    differences: list[Difference] = []
    untold: list[Untold] = []
    compared = 0
    for (sender, completer), one in _directed(before).items():
        if sender not in now or completer not in now:
            continue
        other = theirs.get((now[sender], now[completer]))
        if other is None:
            continue
        subject = _subject(one, other)
        found = list(lay_beside(_facts(one), _facts(other)))
        compared += not any(isinstance(what, Untold) for what in found)
        for what in found:
            match what:
                case Change():
                    traces = (one.traces[what.name], other.traces[what.name])
                    by = "; ".join(_causes(traces, changes))
                    differences.append(Difference(subject, what, by))
                case Untold():
                    untold.append(what)
    return RouteChanges(tuple(differences), tuple(untold), compared)


def _directed(view: PathsView) -> Mapping[_Route, _Directed]:
    found: dict[_Route, _Directed] = {}
    for (one, other), pair in view.pairs.items():
        found[one, other] = _Directed(pair.one, pair.other, pair.now.forth)
        found[other, one] = _Directed(pair.other, pair.one, pair.now.back)
    return found


def _facts(route: _Directed) -> list[Fact]:
    return [Fact(Kind.ROUTE, name, _outcome(trace)) for name, trace in route.traces.items()]


def _outcome(trace: Trace) -> str | NotKnown:
    return NOT_KNOWN if trace.outcome is Outcome.UNKNOWN else str(trace.outcome)


def _causes(traces: tuple[Trace, Trace], changes: Changes) -> Iterator[str]:
    """Yield what differs at the ports on either way, and at the requester.

    Of ports by their addresses before: on the way after only those that kept theirs.
    """
    before, after = traces
    ports = [step.port.address for step in (*before.steps, *after.steps) if step.port is not None]
    for address in dict.fromkeys(ports):
        for change in changes.get(address, ()):
            if change.kind is Kind.ACS:
                yield f"{address} {change.text}"
    for change in changes.get(before.source.address, ()):
        if change.name in _OF_A_SENDER:
            yield f"{before.source.address} {change.text}"


def _subject(one: _Directed, other: _Directed) -> Subject:
    return Subject(
        one.sender.function.location,
        one.sender.function.address,
        other.sender.function.address,
        Subject(
            one.completer.function.location,
            one.completer.function.address,
            other.completer.function.address,
        ),
        f"{one.sender.label} -> {one.completer.label}",
    )
