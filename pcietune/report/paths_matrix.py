"""All pairs of a host as matrices of text."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from pcietune.model.trace import Outcome
from pcietune.report.route_words import MEANINGS, SHORT, data_returns_otherwise
from pcietune.tune.paths.place import Place
from pcietune.tune.paths.view import Pair, PathsView, Peer, PeerKind

_GAP = "  "
TITLES = {
    PeerKind.NIC: "NIC to GPU: the NIC's writes, as RDMA receives into GPU memory",
    PeerKind.NVME: "NVMe drive to GPU: the drive's writes, as GPUDirect Storage reads a file",
    PeerKind.GPU: "GPU to GPU by PCIe: writes of the row's to the column's",
}
"""What a matrix of a kind of peers and the GPUs shows."""
PLACES = {
    Place.SAME: "one device",
    Place.PIX: "at most one switch between the two",
    Place.PXB: "several switches, no root complex",
    Place.PHB: "the root complex (a host bridge)",
    Place.NODE: "several host bridges of one NUMA node",
    Place.SYS: "the link between NUMA nodes",
    Place.UNKNOWN: "the root complex; NUMA nodes are not known",
}
"""What lies between two functions of each place, for a legend."""


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
    """Yield the peers, a matrix for each two kinds, and a legend.

    Args:
        view: The host's pairs.
        width: Of the terminal, in columns; wider matrices are folded. None to fold nothing.
    """
    yield from _peer_lines(view.peers)
    gpus = view.of_kind(PeerKind.GPU)
    for kind, title in TITLES.items():
        rows = view.of_kind(kind)
        if rows and gpus and (kind is not PeerKind.GPU or len(gpus) > 1):
            yield from ("", title)
            yield from _matrix(rows, gpus, lambda r, c: _cell(view.between(r, c), r), width)
    yield from _node_lines(view.peers)
    if view.pairs:
        yield from ("", *_legend(_seen(list(view.pairs.values()))))


def _peer_lines(peers: Sequence[Peer]) -> Iterator[str]:
    if not peers:
        yield "no GPU, RDMA NIC or NVMe drive here"
    for peer in peers:
        parts = [peer.label, str(peer.function.address), peer.function.id]
        if peer.numa_node is not None and peer.numa_node >= 0:
            parts.append(f"node {peer.numa_node}")
        if peer.virtual_functions:
            vfs = "VF that sends" if peer.virtual_functions == 1 else "VFs that send"
            parts.append(f"and {peer.virtual_functions} {vfs} alike")
        yield _GAP.join(parts)


def peer_lines(view: PathsView, peer: Peer) -> Iterator[str]:
    """Yield one peer's pairs, both directions of each in a line, and a legend."""
    yield from _peer_lines([peer])
    rows = [(o, view.between(peer, o)) for o in view.peers if view.between(peer, o) is not None]
    if not rows:
        yield "no other GPU, RDMA NIC or NVMe drive here that it makes a pair with"
        return
    table = [("", f"to {peer.label}", f"from {peer.label}")]
    table += [(other.label, _cell(pair, other), _cell(pair, peer)) for other, pair in rows]
    wide = [max(map(len, column)) for column in zip(*table, strict=True)]
    yield ""
    for line in table:
        cells = (cell.ljust(width) for cell, width in zip(line, wide, strict=True))
        yield _GAP.join(cells).rstrip()
    shown = {pair: None for _, pair in rows if pair is not None}
    yield from ("", *_legend(_seen(list(shown))))


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


def _seen(pairs: Sequence[Pair]) -> _Seen:
    now = [flow for pair in pairs for flow in (pair.now.forth, pair.now.back)]
    later = [w for pair in pairs if (w := pair.once) is not None]
    once = [flow for ways in later for flow in (ways.forth, ways.back)]
    return _Seen(
        places=frozenset(pair.place for pair in pairs),
        outcomes=frozenset(flow.write.outcome for flow in (*now, *once)),
        changes=any(
            one.write.outcome is not other.write.outcome
            for one, other in zip(now, once, strict=False)
        ),
        returns=any(map(data_returns_otherwise, (*now, *once))),
    )


def _legend(seen: _Seen) -> Iterator[str]:
    for place in Place:
        if place in seen.places:
            yield f"{place!s:7}  {PLACES[place]}"
    for outcome in Outcome:
        if outcome in seen.outcomes:
            yield f"{SHORT[outcome]:7}  {MEANINGS[outcome]}"
    if seen.changes:
        yield "a>b      now a, and b once the profile holds"
    if seen.returns:
        yield (
            "*        what the row's peer reads comes back by another way: pcietune paths A B tells"
        )
