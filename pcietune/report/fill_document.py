"""Fill the JSON document with what a run found out and did."""

from collections.abc import Iterable

from pcietune import __version__
from pcietune.errors import PcietuneError
from pcietune.model.finding import Finding, State, Value
from pcietune.model.plan import HeldBack, PlannedWrite
from pcietune.model.settings import Waiver
from pcietune.model.severity import Severity
from pcietune.report.document import (
    SCHEMA,
    ChannelDocument,
    Document,
    ErrorDocument,
    FindingDocument,
    HostDocument,
    ProfileDocument,
    RemedyDocument,
    ResidualDocument,
    SubjectDocument,
    ValueDocument,
    WaiverDocument,
    WriteDocument,
)
from pcietune.report.outcome import Outcome


def document(outcome: Outcome, exit_code: int) -> Document:
    """Return the document of a run that ends with ``exit_code``."""
    findings = () if outcome.audit is None else outcome.audit.findings
    match = outcome.match
    return Document(
        schema=SCHEMA,
        pcietune=__version__,
        host=_host(outcome),
        profile=None
        if match is None
        else ProfileDocument(
            name=match.profile.name, sha256=match.profile.sha256, why=list(match.why)
        ),
        mode=outcome.mode,
        group_modes=dict(sorted(outcome.group_modes.items())),
        enforce=outcome.enforce,
        channels=_channels(outcome),
        findings=[_finding(finding) for finding in findings],
        writes=list(_writes(outcome)),
        deferred=[] if outcome.plan is None else [_held(held) for held in outcome.plan.deferred],
        residual=list(_residual(outcome, findings)),
        changed=outcome.changed,
        disabled=outcome.disabled,
        reboot_required=any(remedy.reboot for remedy in outcome.remedies()),
        power_cycle_required=any(remedy.power_cycle for remedy in outcome.remedies()),
        errors=[
            ErrorDocument(message=str(error), hint=error.hint)
            for error in (*outcome.errors, *_group_errors(outcome))
        ],
        exit=int(exit_code),
    )


def _host(outcome: Outcome) -> HostDocument | None:
    platform = outcome.platform
    if platform is None:
        return None
    return HostDocument(
        dmi=dict(sorted(platform.dmi.items())),
        kernel=platform.kernel,
        boot_id=platform.boot_id,
        lockdown=platform.lockdown,
        cmdline=platform.cmdline,
    )


def _channels(outcome: Outcome) -> dict[str, ChannelDocument]:
    channels = outcome.channels
    if channels is None:
        return {}
    named = {
        "registers": channels.registers,
        "group_type": channels.group_type,
        "config_acs": channels.config_acs,
        "firmware": channels.firmware,
    }
    return {
        name: ChannelDocument(state=channel.state, reason=channel.reason)
        for name, channel in named.items()
    }


def _value(value: Value) -> ValueDocument:
    bits = None if value.bits is None else list(value.bits)
    return ValueDocument(text=value.text, value=value.value, bits=bits)


def _finding(finding: Finding) -> FindingDocument:
    subject, remedy = finding.subject, finding.remedy
    return FindingDocument(
        id=finding.id,
        subject=SubjectDocument(
            path=subject.path,
            address=None if subject.address is None else str(subject.address),
            id=subject.id,
        ),
        severity=finding.severity,
        state=finding.state,
        found=_value(finding.found),
        wanted=_value(finding.wanted),
        reason=finding.reason,
        remedy=None if remedy is None else RemedyDocument(kind=remedy.kind, command=remedy.command),
        waiver=_waiver(finding.waiver),
    )


def _waiver(waiver: Waiver | None) -> WaiverDocument | None:
    if waiver is None:
        return None
    return WaiverDocument(
        reason=waiver.reason, ticket=waiver.ticket, expires=waiver.expires.isoformat()
    )


def _write(planned: PlannedWrite, old: int, readback: int | None) -> WriteDocument:
    return WriteDocument(
        path=planned.port.location,
        address=str(planned.port.address),
        register=planned.register,
        offset=f"{planned.write.offset:#05x}",
        old=f"{old:#06x}",
        mask=f"{planned.write.mask:#06x}",
        new=f"{planned.write.merge(old):#06x}",
        readback=None if readback is None else f"{readback:#06x}",
    )


def _writes(outcome: Outcome) -> Iterable[WriteDocument]:
    """Yield the writes that were made; for a plan, those that would be."""
    if outcome.applied is not None:
        for done in outcome.applied.kept:
            yield _write(done.planned, done.old, done.readback)
    elif outcome.restoration is not None:
        for back in outcome.restoration.restored:
            yield WriteDocument(
                path=back.port.location,
                address=str(back.port.address),
                register="ACSCtl",
                offset=f"{back.entry.offset:#05x}",
                old=f"{back.old:#06x}",
                mask=f"{back.entry.mask:#06x}",
                new=f"{back.readback:#06x}",
                readback=f"{back.readback:#06x}",
            )
    elif outcome.plan is not None:
        for planned in outcome.plan.writes:
            yield _write(planned, planned.old, None)


def _held(held: HeldBack) -> ResidualDocument:
    return ResidualDocument(
        path=held.planned.port.location,
        address=str(held.planned.port.address),
        what=" ".join(held.planned.wants),
        reason=held.reason,
    )


def _residual(outcome: Outcome, findings: Iterable[Finding]) -> Iterable[ResidualDocument]:
    """Yield what stays as it is: held back, not begun, or beyond any write."""
    planned = set()
    if outcome.plan is not None:
        for held in (*outcome.plan.deferred, *outcome.plan.refused):
            planned |= {(held.planned.port.location, what) for what in held.planned.finding_ids}
            yield _held(held)
        for group, reason in outcome.plan.unreadable:
            yield ResidualDocument(
                path=group, address=None, what="switch group not begun", reason=reason
            )
        if outcome.applied is None:
            planned |= {
                (write.port.location, what)
                for write in outcome.plan.writes
                for what in write.finding_ids
            }
    if outcome.restoration is not None:
        for left in outcome.restoration.left:
            yield ResidualDocument(
                path=left.entry.location,
                address=str(left.entry.address),
                what=f"ACSCtl mask {left.entry.mask:#06x}",
                reason=left.reason,
            )
    if outcome.plan is None:
        return
    for finding in findings:
        failing = finding.state is State.FAIL and finding.severity is not Severity.INFO
        if failing and (finding.subject.path, finding.id) not in planned:
            address = finding.subject.address
            yield ResidualDocument(
                path=finding.subject.path,
                address=None if address is None else str(address),
                what=finding.id,
                reason=finding.reason,
            )


def _group_errors(outcome: Outcome) -> Iterable[PcietuneError]:
    return () if outcome.applied is None else (f.error for f in outcome.applied.failures)
