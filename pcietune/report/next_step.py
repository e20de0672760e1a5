"""What to do next on a host, in a line or two."""

from collections.abc import Iterable

from pcietune.errors import ExitCode
from pcietune.model.finding import RemedyKind, State
from pcietune.model.severity import Severity
from pcietune.report.outcome import Outcome
from pcietune.tune.audit.judge_unfinished import UNFINISHED


def lines(outcome: Outcome) -> Iterable[str]:
    """Yield the next step; nothing where an error already says it."""
    if outcome.errors:
        return
    step = _step(outcome)
    if step:
        yield f"next     {step}"


def _step(outcome: Outcome) -> str | None:
    if outcome.nothing_here:
        return None
    if outcome.disabled is not None:
        return f"nothing is written here while {outcome.disabled}"
    if outcome.audit is None:
        return "choose a mode: pcietune audit --mode vm, or --mode baremetal"
    return _after(outcome)


def _after(outcome: Outcome) -> str:
    mode = f"--mode {outcome.mode}"
    judged = () if outcome.audit is None else outcome.audit.findings
    findings = [finding for finding in judged if finding.severity is not Severity.INFO]
    failing = [f for f in findings if f.state is State.FAIL]
    unread = [f for f in findings if f.state is State.ERROR]
    if any(finding.code is ExitCode.NOT_PERMITTED for finding in unread):
        return "run it as root: registers could not be read"
    if any(finding.id == UNFINISHED for finding in failing):
        return (
            f"an apply did not end well: pcietune apply {mode} finishes it, pcietune restore "
            "undoes it"
        )
    if any(f.remedy is not None and f.remedy.kind is RemedyKind.REGISTER for f in failing):
        return (
            f"pcietune plan {mode} shows what can be written now and what must wait, pcietune "
            f"apply {mode} writes it"
        )
    if failing or unread:
        return f"pcietune audit {mode} says what is wrong, and what mends it"
    if any(finding.state is State.PENDING for finding in findings):
        return "start a VM, and audit again while it runs: some of it is the kernel's doing then"
    waived = any(finding.waiver is not None for finding in findings)
    but = ", but for what is waived" if waived else ""
    return f"nothing: this host is as its profile wants it{but}"
