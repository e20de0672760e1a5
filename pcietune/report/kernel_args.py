"""Words for the kernel command line, as lines for people."""

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import unified_diff
from shlex import join

from pcietune.errors import ExitCode
from pcietune.model.boot_loader import FileChange, LoaderChange
from pcietune.registers.acs import lspci_controls
from pcietune.tune.kernel_args.advise import Advice
from pcietune.tune.kernel_args.check import Check, StageResult
from pcietune.tune.kernel_args.command_line import LONGEST

_MOST_PORTS = 3  # that a stage lacks; --json has every one


@dataclass(slots=True)
class KernelArgsOutcome:
    """What a run found out and did; what stays None was not asked for, or not reached.

    Attributes:
        advice: What is to stand on the command line.
        check: Where it was lost.
        changes: What is, or would be, changed.
        written: Whether that was done.
    """

    advice: Advice | None = None
    check: Check | None = None
    changes: tuple[LoaderChange, ...] = ()
    written: bool = False

    def exit_codes(self) -> list[ExitCode]:
        """Return what the run asks for: DIFFERS if the profile cannot be had, or is not held."""
        differs = self.advice is not None and (
            bool(self.advice.why_not) or not all(port.as_wanted for port in self.advice.ports)
        )
        if self.check is not None:
            differs = not self.check.holds
        return [ExitCode.DIFFERS] if differs else []


def advice_lines(advice: Advice) -> Iterable[str]:
    """Yield the words, and what becomes of each port."""
    yield f"kernel   {advice.takes.reason}"
    yield ""
    if advice.why_not:
        yield f"not by the kernel command line: {advice.why_not}"
    elif not advice.ports:
        yield "no port owes anything, so no word is needed"
    elif not advice.words:
        yield "the kernel by itself sets every port as wanted, so no word is needed"
    yield from advice.words
    if advice.ports and not advice.why_not:
        yield ""
        for port in advice.ports:
            now, then = port.owed.control, port.control
            verdict = "" if port.as_wanted else ", NOT as wanted"
            changed = _changed(now, then)
            where = f"{port.owed.port.address}  {port.owed.port.location}"
            yield f"  {where}  ACSCtl {now:#06x} -> {then:#06x}{changed}{verdict}"
        yield f"  {advice.length} of {LONGEST} bytes, with what this boot has on its command line"
    yield from note_lines(advice)
    if advice.merged.removed:
        yield f"note  instead of {' '.join(advice.merged.removed)}"


def note_lines(advice: Advice) -> Iterable[str]:
    """Yield what to know beside the words."""
    yield from (f"note  {note}" for note in advice.notes)


def check_lines(check: Check) -> Iterable[str]:
    """Yield what each stage holds, and which one lost it."""
    for stage in check.stages:
        yield from _stage_lines(stage)
    for lint in check.lints:
        yield f"{lint.severity}  {lint.token}: {lint.reason}; {lint.instead}"
    yield f"{'held' if check.holds else 'LOST'}  {check.verdict}"


def change_lines(changes: Iterable[LoaderChange]) -> Iterable[str]:
    """Yield what would change, as a diff, and what would run."""
    for change in changes:
        for file in change.files:
            yield from diff_lines(file)
        yield from (f"run: {join(command)}" for command in change.commands)


def then_lines(changes: Iterable[LoaderChange]) -> Iterable[str]:
    """Yield what must run now."""
    steps = [step for change in changes for step in change.then]
    yield "pcietune runs none of these, and nothing works before the reboot:"
    yield from (f"  {step}" for step in dict.fromkeys(steps))


def diff_lines(file: FileChange) -> list[str]:
    """Return how a file changes, as diff -u has it."""
    before, after = (file.before or "").splitlines(), (file.after or "").splitlines()
    old = "/dev/null" if file.before is None else f"/{file.path}"
    new = "/dev/null" if file.after is None else f"/{file.path}"
    return list(unified_diff(before, after, old, new, lineterm=""))


def _stage_lines(stage: StageResult) -> Iterable[str]:
    where = f" in {', '.join(stage.places)}" if stage.places else ""
    if not stage.lacking:
        yield f"as wanted  {stage.stage}{where}"
    else:
        more = len(stage.lacking) - _MOST_PORTS
        ports = ", ".join(stage.lacking[:_MOST_PORTS]) + (f" and {more} more" if more > 0 else "")
        yield f"not        {stage.stage}{where}: {ports}"
    yield from (f"           {word}" for word in stage.words)


def _changed(now: int, then: int) -> str:
    before, after = lspci_controls(now), lspci_controls(then)
    names = [new for old, new in zip(before, after, strict=True) if old != new]
    return f" ({' '.join(names)})" if names else ""
