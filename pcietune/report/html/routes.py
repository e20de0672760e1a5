"""All that the page says of the routes between two peers, in one direction."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pcietune.model.fabric import Fabric
from pcietune.model.trace import Outcome
from pcietune.report.html.anchors import of_route, of_routes
from pcietune.report.html.way import Way, way
from pcietune.tune.paths.change import Cure
from pcietune.tune.paths.flow import Flow
from pcietune.tune.paths.view import Pair, PathsView, Peer


@dataclass(frozen=True, slots=True)
class Route:
    """What one peer sends to another.

    Attributes:
        anchor: Its id on the page.
        sender: Label of the one.
        receiver: Label of the other.
        place: How far apart they are.
        why: On what it stands whether requests are translated.
        now: Its writes.
        once: Its writes once the profile holds; None where that is not known.
        others: Of what it reads what goes otherwise.
        cure: What makes it direct.
        notes: What else to know.
    """

    anchor: str
    sender: str
    receiver: str
    place: str
    why: str
    now: Way
    once: Way | None
    others: tuple[Way, ...]
    cure: Cure | None
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Sender:
    """All that one peer sends.

    Attributes:
        anchor: Its id on the page.
        label: The peer's.
        routes: In the order of the others.
    """

    anchor: str
    label: str
    routes: tuple[Route, ...]


def senders(fabric: Fabric, view: PathsView) -> Iterator[Sender]:
    """Yield the routes of a host by their senders."""
    found: dict[str, list[Route]] = {peer.label: [] for peer in view.peers}
    for pair in view.pairs.values():
        for forth in (True, False):
            route = _route(fabric, pair, forth=forth)
            found[route.sender].append(route)
    order = {peer.label: number for number, peer in enumerate(view.peers)}
    for label, routes in found.items():
        if routes:
            routes.sort(key=lambda route: order[route.receiver])
            yield Sender(of_routes(label), label, tuple(routes))


def _route(fabric: Fabric, pair: Pair, *, forth: bool) -> Route:
    sender, receiver = (pair.one, pair.other) if forth else (pair.other, pair.one)
    now = pair.now.forth if forth else pair.now.back
    once = None if pair.once is None else pair.once.forth if forth else pair.once.back
    labels = {peer.function.address: peer.label for peer in (sender, receiver)}
    return Route(
        anchor=of_route(sender.label, receiver.label),
        sender=sender.label,
        receiver=receiver.label,
        place=pair.place,
        why=now.sender.why,
        now=way(fabric, now.write, labels),
        once=None if once is None else way(fabric, once.write, labels),
        others=tuple(_otherwise(fabric, now, (sender, receiver))),
        cure=_worth_telling(pair, now, forth=forth),
        notes=pair.notes,
    )


def _otherwise(fabric: Fabric, flow: Flow, peers: Iterable[Peer]) -> Iterator[Way]:
    """Yield the read requests and the completions where their way is not that of the writes."""
    labels = {peer.function.address: peer.label for peer in peers}
    alike = (flow.write.outcome, flow.write.at)
    if (flow.read.outcome, flow.read.at) != alike:
        yield way(fabric, flow.read, labels)
    if flow.completion.outcome is not flow.write.outcome:
        yield way(fabric, flow.completion, labels)
    if flow.relaxed is not None and flow.relaxed.outcome is not flow.completion.outcome:
        yield way(fabric, flow.relaxed, labels)


def _worth_telling(pair: Pair, now: Flow, *, forth: bool) -> Cure | None:
    """Return what makes it direct; None if it is, or nobody looked for it."""
    if pair.cures is None:
        return None
    cure = pair.cures[0 if forth else 1]
    done = now.write.outcome is Outcome.DIRECT and not cure.changes
    return None if done else cure
