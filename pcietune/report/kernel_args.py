"""Words for the kernel command line, as lines for people and as a JSON document."""

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import unified_diff
from shlex import join

import msgspec

from pcietune.errors import ExitCode
from pcietune.model.boot_loader import FileChange, LoaderChange
from pcietune.registers.acs import lspci_controls
from pcietune.report.json_text import encode
from pcietune.tune.kernel_args.advise import Advice, PredictedPort
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


class PortDocument(msgspec.Struct, kw_only=True, frozen=True):
    """A port: ACS Control now, after a boot with the words, and whether that is as wanted."""

    path: str
    address: str
    found: str
    then: str
    as_wanted: bool


class StageDocument(msgspec.Struct, kw_only=True, frozen=True):
    """One of files, command line and registers; lacking has the ports that it leaves otherwise."""

    stage: str
    words: list[str]
    places: list[str]
    lacking: list[str]


class LintDocument(msgspec.Struct, kw_only=True, frozen=True):
    """A word of a file that misleads."""

    token: str
    severity: str
    reason: str
    instead: str


class CheckDocument(msgspec.Struct, kw_only=True, frozen=True):
    """Whether all stages hold, and which one lost it; loader is null if no file asks for it."""

    holds: bool
    verdict: str
    loader: str | None
    stages: list[StageDocument]
    lints: list[LintDocument]


class ChangeDocument(msgspec.Struct, kw_only=True, frozen=True):
    """What is changed for one boot loader, and what must run then."""

    loader: str
    diff: list[str]
    commands: list[list[str]]
    then: list[str]


class KernelArgsDocument(msgspec.Struct, kw_only=True, frozen=True):
    """The words; bytes counts the whole command line, of which the kernel keeps 2047."""

    schema: int
    kernel: str
    kernel_takes: str
    words: list[str]
    cmdline: str
    bytes: int
    ports: list[PortDocument]
    why_not: str
    notes: list[str]
    check: CheckDocument | None
    changes: list[ChangeDocument]
    written: bool
    reboot_required: bool


def kernel_args_document(outcome: KernelArgsOutcome, advice: Advice) -> str:
    """Return what was found out and done as JSON."""
    return encode(
        KernelArgsDocument(
            schema=1,
            kernel=advice.takes.kernel,
            kernel_takes=advice.takes.reason,
            words=list(advice.words),
            cmdline=advice.merged.text,
            bytes=advice.length,
            ports=[_port(port) for port in advice.ports],
            why_not=advice.why_not,
            notes=list(advice.notes),
            check=None if outcome.check is None else _check(outcome.check),
            changes=[_change(change) for change in outcome.changes if not change.is_empty],
            written=outcome.written,
            reboot_required=outcome.written,
        )
    )


def advice_lines(advice: Advice) -> Iterable[str]:
    """Yield the words, and what becomes of each port."""
    yield f"kernel   {advice.takes.reason}"
    yield ""
    if advice.why_not:
        yield f"not by the kernel command line: {advice.why_not}"
    elif not advice.ports:
        yield "no port owes anything, so no word is needed"
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
            yield from _diff(file)
        yield from (f"run: {join(command)}" for command in change.commands)


def then_lines(changes: Iterable[LoaderChange]) -> Iterable[str]:
    """Yield what must run now."""
    steps = [step for change in changes for step in change.then]
    yield "pcietune runs none of these, and nothing works before the reboot:"
    yield from (f"  {step}" for step in dict.fromkeys(steps))
    yield "then: pcietune kernel-args --check"


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


def _diff(file: FileChange) -> list[str]:
    before, after = (file.before or "").splitlines(), (file.after or "").splitlines()
    old = "/dev/null" if file.before is None else f"/{file.path}"
    new = "/dev/null" if file.after is None else f"/{file.path}"
    return list(unified_diff(before, after, old, new, lineterm=""))


def _port(port: PredictedPort) -> PortDocument:
    return PortDocument(
        path=port.owed.port.location,
        address=str(port.owed.port.address),
        found=f"{port.owed.control:#06x}",
        then=f"{port.control:#06x}",
        as_wanted=port.as_wanted,
    )


def _check(check: Check) -> CheckDocument:
    return CheckDocument(
        holds=check.holds,
        verdict=check.verdict,
        loader=check.loader,
        stages=[
            StageDocument(
                stage=stage.stage,
                words=list(stage.words),
                places=list(stage.places),
                lacking=list(stage.lacking),
            )
            for stage in check.stages
        ],
        lints=[
            LintDocument(
                token=lint.token,
                severity=lint.severity,
                reason=lint.reason,
                instead=lint.instead,
            )
            for lint in check.lints
        ],
    )


def _change(change: LoaderChange) -> ChangeDocument:
    return ChangeDocument(
        loader=change.loader,
        diff=[line for file in change.files for line in _diff(file)],
        commands=[list(command) for command in change.commands],
        then=list(change.then),
    )
