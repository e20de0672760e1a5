"""The steps to a duty, as lines for people and as a JSON document."""

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from pcietune.model.finding import Finding
from pcietune.model.mode_change import ModeChange, Step, StepKind
from pcietune.report.json_text import encode

_MOST_COMMANDS = 12  # of one step; --json has every one


class SettledDocument(msgspec.Struct, kw_only=True, frozen=True):
    """A finding that a step ends."""

    id: str
    path: str


class StepDocument(msgspec.Struct, kw_only=True, frozen=True):
    """One step; open_after counts by id the findings that are open when it is done."""

    kind: str
    title: str
    done: bool
    commands: list[str]
    check: str
    settles: list[SettledDocument]
    open_after: dict[str, int]


class ModeDocument(msgspec.Struct, kw_only=True, frozen=True):
    """The way to a duty; groups is empty where the whole host is meant."""

    schema: int
    mode: str
    groups: list[str]
    done: bool
    steps: list[StepDocument]


def mode_document(change: ModeChange) -> str:
    """Return the steps as JSON."""
    return encode(
        ModeDocument(
            schema=1,
            mode=change.mode,
            groups=list(change.groups),
            done=change.done,
            steps=[_step_document(change, number) for number in range(len(change.steps))],
        )
    )


def mode_lines(change: ModeChange) -> Iterable[str]:
    """Yield the steps, and after each what is still open."""
    where = f" of {', '.join(change.groups)}" if change.groups else ""
    yield f"steps to mode {change.mode}{where}"
    unread = any(step.kind is StepKind.READ and not step.done for step in change.steps)
    besides = ", besides what could not be read" if unread else ""
    for number, step in enumerate(change.steps):
        yield ""
        yield f"{'done' if step.done else 'open'}  {number + 1}  {step.title}"
        if step.done:
            continue
        yield from _commands(step)
        if step.check:
            yield f"      check: {step.check}"
        yield f"      after it: {_counted(change.open_after(number + 1))}{besides}"
    yield ""
    steps = sum(not step.done for step in change.steps)
    yield f"{steps} step{'' if steps == 1 else 's'} to go" if steps else "nothing is left to do"


def _commands(step: Step) -> Iterable[str]:
    for command in step.commands[:_MOST_COMMANDS]:
        yield f"      {command}"
    if len(step.commands) > _MOST_COMMANDS:
        yield f"      and {len(step.commands) - _MOST_COMMANDS} more: --json has every one"


def _counted(findings: Sequence[Finding]) -> str:
    """Return findings counted by id, the most frequent first."""
    if not findings:
        return "nothing is open"
    counts = Counter(finding.id for finding in findings)
    several = ", ".join(f"{name} x{count}" for name, count in counts.most_common())
    return f"{len(findings)} still open: {several}"


def _step_document(change: ModeChange, number: int) -> StepDocument:
    step = change.steps[number]
    counts = Counter(finding.id for finding in change.open_after(number + 1))
    return StepDocument(
        kind=step.kind,
        title=step.title,
        done=step.done,
        commands=list(step.commands),
        check=step.check,
        settles=[SettledDocument(id=f.id, path=f.subject.path) for f in step.settles],
        open_after=dict(sorted(counts.items())),
    )
