"""Fill the JSON document with what a run found out and did."""

from collections.abc import Iterable

from pcietune import __version__
from pcietune.errors import PcietuneError
from pcietune.model.finding import Finding, Value
from pcietune.model.protection import Protection
from pcietune.model.settings import Waiver
from pcietune.report.binding import binding_documents
from pcietune.report.document import (
    SCHEMA,
    ChannelDocument,
    Document,
    ErrorDocument,
    FindingDocument,
    HookDocument,
    HostDocument,
    ProfileDocument,
    ProtectedDocument,
    RemedyDocument,
    SubjectDocument,
    ValueDocument,
    WaiverDocument,
)
from pcietune.report.fill_writes import (
    deferred_documents,
    residual_documents,
    write_documents,
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
        unattended=outcome.unattended,
        channels=_channels(outcome),
        protected=_protected(outcome.protection),
        findings=[finding_document(finding) for finding in findings],
        writes=write_documents(outcome),
        deferred=deferred_documents(outcome),
        residual=residual_documents(outcome),
        hook=_hook(outcome),
        bindings=binding_documents(outcome),
        changed=outcome.changed,
        disabled=outcome.disabled,
        guard=None if outcome.guard is None else outcome.guard.why_held,
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


def _hook(outcome: Outcome) -> HookDocument | None:
    if outcome.kept is None:
        return None
    policy = outcome.kept.policy
    return HookDocument(
        enforce=policy.enforce,
        sha256=policy.sha256,
        functions=list(policy.functions),
        stamped=[stamp.address for stamp in outcome.kept.stamps],
    )


def _protected(protection: Protection | None) -> ProtectedDocument | None:
    if protection is None:
        return None
    return ProtectedDocument(
        functions={str(address): why for address, why in protection.why.items()},
        not_known=list(protection.not_known),
    )


def _value(value: Value) -> ValueDocument:
    bits = None if value.bits is None else list(value.bits)
    return ValueDocument(text=value.text, value=value.value, bits=bits)


def finding_document(finding: Finding) -> FindingDocument:
    """Return a finding as documents have it."""
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


def _group_errors(outcome: Outcome) -> Iterable[PcietuneError]:
    return () if outcome.applied is None else (f.error for f in outcome.applied.failures)
