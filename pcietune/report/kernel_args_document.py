"""Words for the kernel command line as a JSON document."""

import msgspec

from pcietune.model.boot_loader import LoaderChange
from pcietune.report.json_text import encode
from pcietune.report.kernel_args import KernelArgsOutcome, diff_lines
from pcietune.tune.kernel_args.advise import Advice, PredictedPort
from pcietune.tune.kernel_args.check import Check


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
        diff=[line for file in change.files for line in diff_lines(file)],
        commands=[list(command) for command in change.commands],
        then=list(change.then),
    )
