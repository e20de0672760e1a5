"""What an audit found as entries of the journal, one for each finding that fails."""

from collections.abc import Iterator

from pcietune.errors import ExitCode, PcietuneError
from pcietune.model.finding import Finding, State
from pcietune.model.severity import Severity
from pcietune.report.findings_text import summary
from pcietune.report.outcome import Outcome

FINDING = "eb7565e6a47b46fa9d65fb35e7df39f1"
"""``MESSAGE_ID`` of a finding that fails or could not be read."""
ENDED_EARLY = "0c1a5b8c8eba4d8282139d53ea8d34c9"
"""``MESSAGE_ID`` of what ended an audit early."""
AUDITED = "dae3e260f1864a29a052c552237f84c1"
"""``MESSAGE_ID`` of the last entry of every audit."""

Entry = dict[str, str]

_ERROR, _WARNING, _INFO = "3", "4", "6"  # syslog(3)
_PRIORITIES = {Severity.ERROR: _ERROR, Severity.WARNING: _WARNING, Severity.INFO: _INFO}


def journal_entries(outcome: Outcome) -> Iterator[Entry]:
    """Yield an entry for each error and each finding that fails, and one for the run."""
    for error in outcome.errors:
        yield _of_run(ENDED_EARLY, _ERROR, _said(error)) | _judged_by(outcome)
    for finding in () if outcome.audit is None else outcome.audit.findings:
        if _fails(finding, strict=outcome.strict):
            yield _of(finding) | _judged_by(outcome)
    code = outcome.exit_code()
    counts = "; ".join(summary(outcome)) or _unjudged(outcome)
    message = f"audit ended with exit code {code}: {counts}"
    yield _of_run(AUDITED, _INFO, message) | {"PCIETUNE_EXIT": str(int(code))} | _judged_by(outcome)


def _unjudged(outcome: Outcome) -> str:
    return "there is no GPU on this host" if outcome.nothing_here else "not judged"


def _fails(finding: Finding, *, strict: bool) -> bool:
    if finding.state in (State.FAIL, State.ERROR):
        return True
    return strict and finding.exit_code(strict=True) is ExitCode.DIFFERS


def _said(error: PcietuneError) -> str:
    return f"{error} (try: {error.hint})" if error.hint else str(error)


def _of(finding: Finding) -> Entry:
    subject, remedy = finding.subject, finding.remedy
    where = subject.path if subject.address is None else f"{subject.address} {subject.path}"
    found, wanted = finding.found.text, finding.wanted.text
    message = (
        f"{finding.id} {finding.state}: {where}: {finding.reason} (found {found}, wanted {wanted})"
    )
    return _of_run(FINDING, _PRIORITIES[finding.severity], message) | {
        "PCIETUNE_FINDING": finding.id,
        "PCIETUNE_STATE": finding.state,
        "PCIETUNE_SEVERITY": finding.severity,
        "PCIETUNE_LOCATION": subject.path,
        **({} if subject.address is None else {"PCIETUNE_ADDRESS": str(subject.address)}),
        **({} if subject.id is None else {"PCIETUNE_ID": subject.id}),
        "PCIETUNE_FOUND": found,
        "PCIETUNE_WANTED": wanted,
        **({} if remedy is None else {"PCIETUNE_REMEDY": f"{remedy.kind}: {remedy.command}"}),
    }


def _of_run(message_id: str, priority: str, message: str) -> Entry:
    return {
        "MESSAGE": message,
        "MESSAGE_ID": message_id,
        "PRIORITY": priority,
        "SYSLOG_IDENTIFIER": "pcietune",
    }


def _judged_by(outcome: Outcome) -> Entry:
    profile = {} if outcome.match is None else {"PCIETUNE_PROFILE": outcome.match.profile.name}
    return profile | ({} if outcome.mode is None else {"PCIETUNE_MODE": outcome.mode})
