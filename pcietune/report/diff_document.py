"""How two hosts differ, as JSON."""

from collections.abc import Iterable

import msgspec

from pcietune import __version__
from pcietune.report.json_text import encode
from pcietune.tune.diff.difference import Diff, Difference, NotTold, Subject
from pcietune.tune.diff.fact import Kind
from pcietune.tune.diff.meaning import meaning
from pcietune.tune.diff.side import Side

SCHEMA = 1


class SideDocument(msgspec.Struct, kw_only=True, frozen=True):
    """One of the two hosts."""

    sys_vendor: str | None
    product_name: str | None
    kernel: str | None
    problems: list[str]


class PlaceDocument(msgspec.Struct, kw_only=True, frozen=True):
    """A function, an IOMMU unit or the host."""

    path: str
    before: str | None
    after: str | None


class DifferenceDocument(msgspec.Struct, kw_only=True, frozen=True):
    """One fact of one subject; docs/json.md explains each key."""

    kind: str
    name: str
    before: str | None
    after: str | None
    meaning: str
    subject: PlaceDocument
    to: PlaceDocument | None
    by: str | None


class NotToldDocument(msgspec.Struct, kw_only=True, frozen=True):
    """Facts that were not compared."""

    kind: str
    name: str
    by: list[str]
    subjects: int


class DiffDocument(msgspec.Struct, kw_only=True, frozen=True):
    """Two hosts beside each other."""

    schema: int
    pcietune: str
    before: SideDocument
    after: SideDocument
    kinds: list[str]
    functions_compared: int
    routes_compared: int | None
    differences: list[DifferenceDocument]
    moved: list[PlaceDocument]
    not_told: list[NotToldDocument]


def diff_document(diff: Diff, before: Side, after: Side, kinds: Iterable[Kind]) -> str:
    """Return the differences as JSON text."""
    whole = DiffDocument(
        schema=SCHEMA,
        pcietune=__version__,
        before=_side(before),
        after=_side(after),
        kinds=list(kinds),
        functions_compared=diff.compared,
        routes_compared=diff.routes,
        differences=[_difference(each) for each in diff.differences],
        moved=[_place(subject) for subject in diff.moved],
        not_told=[_not_told(each) for each in diff.not_told],
    )
    return encode(whole)


def _side(side: Side) -> SideDocument:
    return SideDocument(
        sys_vendor=side.platform.dmi.get("sys_vendor"),
        product_name=side.platform.dmi.get("product_name"),
        kernel=side.platform.kernel,
        problems=[str(problem) for problem in side.problems],
    )


def _difference(difference: Difference) -> DifferenceDocument:
    change, to = difference.change, difference.subject.to
    return DifferenceDocument(
        kind=change.kind,
        name=change.name,
        before=change.before,
        after=change.after,
        meaning=meaning(change.kind, change.name),
        subject=_place(difference.subject),
        to=None if to is None else _place(to),
        by=difference.by or None,
    )


def _place(subject: Subject) -> PlaceDocument:
    before, after = subject.before, subject.after
    return PlaceDocument(
        path=subject.path,
        before=None if before is None else str(before),
        after=None if after is None else str(after),
    )


def _not_told(each: NotTold) -> NotToldDocument:
    sides = (("before", each.what.by_before), ("after", each.what.by_after))
    return NotToldDocument(
        kind=each.what.kind,
        name=each.what.name,
        by=[name for name, does_not in sides if does_not],
        subjects=each.subjects,
    )
