"""All pairs of a host as matrices of text, with what is to blame for the long ways."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from pcietune.model.trace import Outcome, Trace
from pcietune.report.route_words import MEANINGS, SHORT, control_of, data_returns_otherwise
from pcietune.tune.paths.place import Place
from pcietune.tune.paths.view import Pair, PathsView, Peer, PeerKind

_GAP = "  "
_TITLES = {
    PeerKind.NIC: "NIC to GPU: the NIC's writes, as RDMA receives into GPU memory",
    PeerKind.NVME: "NVMe drive to GPU: the drive's writes, as GPUDirect Storage reads a file",
}
_GPU_TITLE = "GPU to GPU by PCIe: writes of the row's to the column's"
_PLACES = {
    Place.SAME: "one device",
    Place.PIX: "at most one switch between the two",
    Place.PXB: "several switches, no root complex",
    Place.PHB: "the root complex (a host bridge)",
    Place.NODE: "several host bridges of one NUMA node",
    Place.SYS: "the link between NUMA nodes",
    Place.UNKNOWN: "the root complex; NUMA nodes are not known",
}


@dataclass(frozen=True, slots=True)
class _Seen:
    """What a matrix used, for the legend.

    Attributes:
        places: That stand in it.
        outcomes: Alike.
        changes: Whether something differs once the profile holds.
        returns: Whether data that is read comes back by another way somewhere.
    """

    places: frozenset[Place]
    outcomes: frozenset[Outcome]
    changes: bool
    returns: bool


def matrix_lines(view: PathsView, width: int | None) -> Iterator[str]:
    """Yield the peers, a matrix for each two kinds, a legend, and what is to blame.

    Args:
        view: The host's pairs.
        width: Of the terminal, in columns; wider matrices are folded. None to fold nothing.
    """
    yield from _peer_lines(view.peers)
    gpus = view.of_kind(PeerKind.GPU)
    for kind, title in _TITLES.items():
        rows = view.of_kind(kind)
        if rows and gpus:
            yield from ("", title)
            yield from _matrix(rows, gpus, lambda r, c: _cell(_pair(view, r, c), r), width)
    if len(gpus) > 1:
        yield from ("", _GPU_TITLE)
        yield from _matrix(gpus, gpus, lambda r, c: _cell(_pair(view, r, c), r), width)
    yield from _node_lines(view.peers)
    if view.pairs:
        yield from ("", *_legend(_seen(view)))
        yield from ("", *_blame(view))
    for note in view.notes:
        yield f"note  {note}"


def _peer_lines(peers: Sequence[Peer]) -> Iterator[str]:
    if not peers:
        yield "no GPU, RDMA NIC or NVMe drive here"
    for peer in peers:
        parts = [peer.label, str(peer.function.address), peer.function.id]
        if peer.numa_node is not None and peer.numa_node >= 0:
            parts.append(f"node {peer.numa_node}")
        if peer.virtual_functions:
            parts.append(f"and {peer.virtual_functions} VFs that send alike")
        yield _GAP.join(parts)


def _pair(view: PathsView, row: Peer, column: Peer) -> Pair | None:
    one, other = row.function.address, column.function.address
    return view.pairs.get((one, other)) or view.pairs.get((other, one))


def _cell(pair: Pair | None, row: Peer) -> str:
    """Return place and ways of what the row's peer sends; X where it would be to itself."""
    if pair is None:
        return str(Place.SAME)
    forth = pair.one == row
    now = pair.now.forth if forth else pair.now.back
    once = None if pair.once is None else pair.once.forth if forth else pair.once.back
    word = SHORT[now.write.outcome]
    last = now
    if once is not None and once.write.outcome is not now.write.outcome:
        word += f">{SHORT[once.write.outcome]}"
        last = once
    mark = "*" if data_returns_otherwise(last) else ""
    return f"{pair.place} {word}{mark}"


def _matrix(
    rows: Sequence[Peer],
    columns: Sequence[Peer],
    cell: Callable[[Peer, Peer], str],
    width: int | None,
) -> Iterator[str]:
    """Yield lines of equal columns, in blocks that are no wider than ``width``."""
    cells = {(row.label, column.label): cell(row, column) for row in rows for column in columns}
    wide = max(map(len, (*cells.values(), *(column.label for column in columns))))
    label = max(len(row.label) for row in rows)
    fit = len(columns)
    if width is not None:
        fit = max(1, (width - label) // (wide + len(_GAP)))
    for start in range(0, len(columns), fit):
        block = columns[start : start + fit]
        heads = (column.label.ljust(wide) for column in block)
        yield _GAP.join((" " * label, *heads)).rstrip()
        for row in rows:
            values = (cells[row.label, column.label].ljust(wide) for column in block)
            yield _GAP.join((row.label.ljust(label), *values)).rstrip()


def _node_lines(peers: Sequence[Peer]) -> Iterator[str]:
    """Yield which NUMA node's memory is near, for copies between host and device."""
    nodes: dict[int | None, list[str]] = {}
    for peer in peers:
        known = peer.numa_node if peer.numa_node is not None and peer.numa_node >= 0 else None
        nodes.setdefault(known, []).append(peer.label)
    if not peers:
        return
    yield ""
    yield "Host memory: copies between it and a device cross the link between sockets elsewhere"
    for node, labels in sorted(nodes.items(), key=lambda each: (each[0] is None, each[0] or 0)):
        where = "node not known" if node is None else f"node {node} is local to"
        yield f"{where}: {' '.join(labels)}" if node is None else f"{where} {' '.join(labels)}"


def _seen(view: PathsView) -> _Seen:
    flows = [f for p in view.pairs.values() for f in (p.now.forth, p.now.back)]
    once = [
        f for p in view.pairs.values() if p.once is not None for f in (p.once.forth, p.once.back)
    ]
    return _Seen(
        places=frozenset(pair.place for pair in view.pairs.values()),
        outcomes=frozenset(f.write.outcome for f in (*flows, *once)),
        changes=any(
            p.once is not None
            and (p.once.forth.write.outcome, p.once.back.write.outcome)
            != (p.now.forth.write.outcome, p.now.back.write.outcome)
            for p in view.pairs.values()
        ),
        returns=any(map(data_returns_otherwise, (*flows, *once))),
    )


def _legend(seen: _Seen) -> Iterator[str]:
    for place in Place:
        if place in seen.places:
            yield f"{place!s:7}  {_PLACES[place]}"
    for outcome in Outcome:
        if outcome in seen.outcomes:
            yield f"{SHORT[outcome]:7}  {MEANINGS[outcome]}"
    if seen.changes:
        yield "a>b      now a, and b once the profile holds"
    if seen.returns:
        yield (
            "*        what the row's peer reads comes back by another way: pcietune paths A B tells"
        )


def _blame(view: PathsView) -> Iterator[str]:
    """Yield how many ways are of which kind, and which ports and controls make them so."""
    for title, ways in _kinds(view):
        if not ways:
            continue
        counts = Counter(way.outcome for way, _ in ways)
        told = ", ".join(f"{counts[outcome]} {outcome}" for outcome in Outcome if counts[outcome])
        later = Counter(once.outcome for _, once in ways if once is not None)
        line = f"{title}: {told}"
        if later and later != counts:
            parts = (f"{later[outcome]} {outcome}" for outcome in Outcome if later[outcome])
            line += f"; once the profile holds {', '.join(parts)}"
        yield line
        yield from _deciding(way for way, _ in ways)


def _kinds(view: PathsView) -> Iterator[tuple[str, list[tuple[Trace, Trace | None]]]]:
    """Yield the headline's ways by kind, now and once the profile holds."""
    for title, kind in (("NIC to GPU", PeerKind.NIC), ("NVMe to GPU", PeerKind.NVME)):
        pairs = [pair for pair in view.pairs.values() if pair.one.kind is kind]
        yield title, [_forth(pair) for pair in pairs]
    pairs = [pair for pair in view.pairs.values() if pair.one.kind is PeerKind.GPU]
    yield "GPU to GPU", [*map(_forth, pairs), *map(_back, pairs)]


def _forth(pair: Pair) -> tuple[Trace, Trace | None]:
    return pair.now.forth.write, None if pair.once is None else pair.once.forth.write


def _back(pair: Pair) -> tuple[Trace, Trace | None]:
    return pair.now.back.write, None if pair.once is None else pair.once.back.write


def _deciding(ways: Iterable[Trace]) -> Iterator[str]:
    """Yield the ports that send packets elsewhere than straight on, with how many ways each."""
    by_port: Counter[tuple[str, str]] = Counter()
    for way in ways:
        if way.outcome is Outcome.DIRECT or way.at is None or way.control is None:
            continue
        deciding = next(s for s in way.steps if s.port == way.at and s.control is way.control)
        by_port[str(way.at.address), control_of(deciding, way.packet)] += 1
    for (port, control), count in sorted(by_port.items()):
        yield f"  {port}  {control}  decides about {count} of them"
