"""How two hosts differ, for people."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from pcietune.model.platform import Platform
from pcietune.report.diff_blocks import Block, blocks
from pcietune.tune.diff.difference import Diff, NotTold, Subject
from pcietune.tune.diff.fact import Kind
from pcietune.tune.diff.meaning import meaning

_T = TypeVar("_T")
_MOST_SUBJECTS = 16  # of one block; JSON has them all


@dataclass(frozen=True, slots=True)
class Source:
    """One of the two hosts, for a heading.

    Attributes:
        name: As it was typed.
        platform: What the host is.
    """

    name: str
    platform: Platform

    def __str__(self) -> str:
        dmi = self.platform.dmi
        names = " ".join(filter(None, (dmi.get("sys_vendor"), dmi.get("product_name"))))
        kernel = self.platform.kernel or "not known"
        return f"{self.name}: {names or 'name not known'}, kernel {kernel}"


def diff_lines(diff: Diff, before: Source, after: Source, kinds: Iterable[Kind]) -> Iterator[str]:
    """Yield the differences as lines, and what was compared."""
    yield f"before  {before}"
    yield f"after   {after}"
    yield ""
    for block in blocks(diff.differences):
        yield from _block(block)
        yield ""
    for subject in _first(diff.moved):
        yield f"{subject.before} is now at {subject.after}, and the same place"
    if len(diff.moved) > _MOST_SUBJECTS:
        yield f"and {len(diff.moved) - _MOST_SUBJECTS} more are at other addresses"
    yield from _not_told(diff.not_told)
    yield _summary(diff, kinds)


def _block(block: Block) -> Iterator[str]:
    for change in block.changes:
        yield f"{block.kind}  {change.text}"
    for means in dict.fromkeys(meaning(each.kind, each.name) for each in block.changes):
        if means:
            yield f"  {means}"
    for subject, by in _first(block.subjects):
        yield f"    {_named(subject)}{f', by {by}' if by else ''}"
    if len(block.subjects) > _MOST_SUBJECTS:
        yield f"    and {len(block.subjects) - _MOST_SUBJECTS} more"


def _first(some: tuple[_T, ...]) -> tuple[_T, ...]:
    return some[:_MOST_SUBJECTS]


def _named(subject: Subject) -> str:
    if subject.to is not None:
        return f"{subject.label}  {_address(subject)} -> {_address(subject.to)}"
    if subject.before is None and subject.after is None:
        return subject.path
    return f"{_address(subject)}  {subject.path}"


def _address(subject: Subject) -> str:
    if subject.before is None or subject.after in (None, subject.before):
        return str(subject.before or subject.after)
    return f"{subject.before} (now {subject.after})"


def _not_told(untold: Iterable[NotTold]) -> Iterator[str]:
    """Yield a line for each of the two sources, and one for both, with what they do not tell."""
    lines: dict[str, list[str]] = {}
    for each in untold:
        what = each.what
        who = "before" if what.by_before else "after"
        who = "either" if what.by_before and what.by_after else who
        of = "" if each.subjects == 1 else f" ({each.subjects} times)"
        name = f"value of {what.name}=" if what.kind is Kind.COMMAND_LINE else what.name
        lines.setdefault(who, []).append(f"{name}{of}")
    for who, names in lines.items():
        yield f"not told by {who}: {', '.join(names)}"


def _summary(diff: Diff, kinds: Iterable[Kind]) -> str:
    routes = "" if diff.routes is None else f", {diff.routes} route{'s' * (diff.routes != 1)}"
    compared = f"{diff.compared} functions{routes} compared"
    about = ", ".join(kinds)
    if not diff.differences:
        told = " in what both tell" if diff.not_told else ""
        return f"no difference{told}: {compared}, by {about}"
    counted = Counter(difference.change.kind for difference in diff.differences)
    told = ", ".join(f"{number} {kind}" for kind, number in counted.items())
    number = len(diff.differences)
    return f"{number} difference{'s' if number > 1 else ''}: {told}; {compared}"
