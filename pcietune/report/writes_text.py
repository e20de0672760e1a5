"""What was, is or would be written, as plain lines for people."""

from collections.abc import Iterable, Sequence
from itertools import groupby

from pcietune.model.plan import HeldBack, Plan
from pcietune.report.outcome import Outcome
from pcietune.report.written import Written, line, risks, writes


def plan(outcome: Outcome) -> Iterable[str]:
    """Yield the exact writes of a plan, and what is held back."""
    if outcome.plan is None:
        return
    yield ""
    told = writes(outcome)
    if outcome.plan.unreadable:
        yield "What is to be written is not known where something could not be read."
    elif not told:
        yield "nothing to write"
    yield from _by_group(told)
    yield from _held(outcome.plan)
    if outcome.beyond_writing:
        count = len(outcome.beyond_writing)
        yield f"{count} findings that no write mends: pcietune audit tells what does"


def applied(outcome: Outcome) -> Iterable[str]:
    """Yield what was written, rolled back and held back."""
    if outcome.only_judges and outcome.audit is not None:
        yield ""
        held = None if outcome.guard is None else outcome.guard.why_held
        why = held or f"enforce is {outcome.enforce}"
        yield f"nothing was written: this run is unattended, and {why}"
    if outcome.applied is None or outcome.plan is None:
        return
    yield ""
    if outcome.applied.interrupted:
        yield "interrupted: everything written in this run was undone"
    told = writes(outcome)
    yield from _by_group(told)
    for failure in outcome.applied.failures:
        yield f"FAILED  switch group {failure.group}: {failure.error}"
        if failure.error.hint:
            yield f"  try: {failure.error.hint}"
    if not told and not outcome.applied.failures:
        yield "nothing was written"
    yield from _lines("not done", outcome.applied.held)
    yield from _held(outcome.plan)


def restored(outcome: Outcome) -> Iterable[str]:
    """Yield what was put back and what was left."""
    restoration = outcome.restoration
    if restoration is None:
        return
    yield from map(line, writes(outcome))
    for left in restoration.left:
        yield f"left  {left.entry.address}: {left.reason}"
    for entry in restoration.found:
        yield f"left  {entry.address}: set before this boot's first apply"
    if not restoration.restored:
        yield "nothing to put back"


def _by_group(told: Sequence[Written]) -> Iterable[str]:
    ranked = sorted(told, key=lambda w: [w.group for w in told].index(w.group))
    for name, alike in groupby(ranked, key=lambda written: written.group):
        yield f"switch group {name}"
        for written in alike:
            reads = "" if written.readback is None else f", reads {written.readback}"
            yield f"  {line(written)}{reads}"
    for risk in risks(told):
        yield f"RISK  {risk}"


def _held(plan: Plan) -> Iterable[str]:
    yield from _lines("deferred", plan.deferred)
    yield from _lines("refused", plan.refused)
    if plan.deferred:
        yield "  try: stop the VM, or --while-in-use"
    for reason in dict.fromkeys(held.reason for held in plan.beyond):
        count = sum(held.reason == reason for held in plan.beyond)
        yield f"not done  ATS of {count} function{'' if count == 1 else 's'}: {reason}"
    for group, reason in plan.unreadable:
        yield f"not begun  switch group {group}: {reason}"


def _lines(word: str, held_back: Iterable[HeldBack]) -> Iterable[str]:
    for held in held_back:
        wants = " ".join(held.planned.wants)
        yield f"{word}  {held.planned.function.address} {wants}: {held.reason}"
