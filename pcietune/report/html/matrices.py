"""The matrices of the page: of each two peers place, route now, and route once as wanted."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pcietune.model.trace import Outcome
from pcietune.report.html.anchors import of_route
from pcietune.report.html.way import deciding
from pcietune.report.paths_matrix import PLACES, TITLES
from pcietune.report.route_words import MEANINGS, SHORT, data_returns_otherwise
from pcietune.tune.paths.view import Pair, PathsView, Peer, PeerKind


@dataclass(frozen=True, slots=True)
class Cell:
    """What the row's peer sends to the column's.

    Attributes:
        route: Id of the route on the page.
        spoken: All of it in a sentence.
        place: How far apart the two are.
        now: The route's short word.
        kind: The route now, for its looks.
        once: The short word once the profile holds, where it differs; None if not.
        once_kind: The same for its looks.
        returns: Whether what is read comes back otherwise.
    """

    route: str
    spoken: str
    place: str
    now: str
    kind: str
    once: str | None
    once_kind: str | None
    returns: bool


@dataclass(frozen=True, slots=True)
class Row:
    """One row; a cell is None where the row's peer is the column's."""

    label: str
    cells: tuple[Cell | None, ...]


@dataclass(frozen=True, slots=True)
class Matrix:
    """Peers of one kind, and the GPUs."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]


def matrices(view: PathsView) -> Iterator[Matrix]:
    """Yield the matrices of a host; none without a GPU."""
    gpus = view.of_kind(PeerKind.GPU)
    for kind, title in TITLES.items():
        peers = view.of_kind(kind)
        if peers and gpus and (kind is not PeerKind.GPU or len(gpus) > 1):
            yield Matrix(
                title,
                tuple(gpu.label for gpu in gpus),
                tuple(Row(peer.label, tuple(_cells(view, peer, gpus))) for peer in peers),
            )


def legend(view: PathsView) -> Iterator[tuple[str, str]]:
    """Yield the words of the matrices that stand in them, and what they mean."""
    places = {pair.place for pair in view.pairs.values()}
    yield from ((str(place), text) for place, text in PLACES.items() if place in places)
    used = {
        flow.write.outcome
        for pair in view.pairs.values()
        for ways in (pair.now, pair.once)
        if ways is not None
        for flow in (ways.forth, ways.back)
    }
    yield from ((SHORT[each], f"{each}: {MEANINGS[each]}") for each in Outcome if each in used)
    if view.mode is not None:
        yield "a > b", "now a, and b once the profile holds"
    yield "*", "what the row's peer reads comes back by another way: see its route"


def _cells(view: PathsView, row: Peer, columns: Sequence[Peer]) -> Iterator[Cell | None]:
    for column in columns:
        pair = view.between(row, column)
        yield None if pair is None else _cell(pair, row, column)


def _cell(pair: Pair, row: Peer, column: Peer) -> Cell:
    forth = pair.one == row
    now = pair.now.forth if forth else pair.now.back
    once = None if pair.once is None else pair.once.forth if forth else pair.once.back
    differs = once is not None and once.write.outcome is not now.write.outcome
    later = once.write.outcome if once is not None and differs else None
    at = deciding(now.write)
    spoken = f"{row.label} to {column.label}: {pair.place}, now {now.write.outcome}"
    spoken += f" by {at}" if at else ""
    spoken += f", {later} once the profile holds" if later else ""
    return Cell(
        route=of_route(row.label, column.label),
        spoken=spoken,
        place=pair.place,
        now=SHORT[now.write.outcome],
        kind=_kind(now.write.outcome),
        once=None if later is None else SHORT[later],
        once_kind=None if later is None else _kind(later),
        returns=data_returns_otherwise(once if once is not None and differs else now),
    )


def _kind(outcome: Outcome) -> str:
    return outcome.replace(" ", "-")
