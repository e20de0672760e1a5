"""Host trees laid beside each other."""

from trees.host import TreeHost
from tune.judged import opened

from pcietune.address import PciAddress
from pcietune.model.profile import ModeName
from pcietune.tune.diff.compare import compare
from pcietune.tune.diff.difference import Diff, Subject
from pcietune.tune.diff.side import Side, read_side
from pcietune.tune.match.survey import survey
from pcietune.tune.paths.pairs import Look, view_paths

Told = tuple[str, str, str, str | None, str | None]


def side(tree: TreeHost, *, mode: ModeName | None = None) -> Side:
    """Return what is compared of a tree; all of its GPUs and NICs take part in pairs."""
    host = opened(tree)
    fabric = survey(host, lambda functions: functions)
    paths = view_paths(host, fabric, {}, look=Look(mode))
    return read_side(host, fabric, paths, complete=True)


def diff(before: TreeHost, after: TreeHost, *, mode: ModeName | None = None) -> Diff:
    """Return how two trees differ."""
    return compare(side(before, mode=mode), side(after, mode=mode))


def told(found: Diff) -> set[Told]:
    """Return what differs, but routes: subject, kind, fact, and both values."""
    return {
        (_name(each.subject), each.change.kind, each.change.name, each.change.before,
         each.change.after)
        for each in found.differences
        if each.subject.to is None
    }  # fmt: skip


def routes(found: Diff) -> set[tuple[str, str, str | None, str | None, str]]:
    """Return the routes that differ: the two ends, the packet, both outcomes, and by what."""
    return {
        (f"{_name(each.subject)} {_name(each.subject.to)}", each.change.name, each.change.before,
         each.change.after, each.by)
        for each in found.differences
        if each.subject.to is not None
    }  # fmt: skip


def _name(subject: Subject) -> str:
    address: PciAddress | None = subject.before or subject.after
    return subject.path if address is None else str(address)
