"""Judge ``pcie_acs_override=``: with it, groups are what it asks for, whatever registers say."""

from collections.abc import Sequence

from pcietune.model.access import HostAccess
from pcietune.model.finding import HOST, Finding, Remedy, RemedyKind, State, Value
from pcietune.model.severity import Severity
from pcietune.tune.audit.isolation import acs_override
from pcietune.tune.audit.judge_isolation import ID as ISOLATION

ID = "kernel.acs-override"


def judge_acs_override(host: HostAccess, findings: Sequence[Finding]) -> list[Finding]:
    """Return a finding where the kernel was told what to say of ports.

    Args:
        host: Whose command line is looked at.
        findings: What was judged of isolation, with all else.
    """
    word = acs_override(host)
    if word is None:
        return []
    false = [
        finding
        for finding in findings
        if finding.id == ISOLATION
        and finding.state is State.FAIL
        and finding.severity is Severity.ERROR
    ]
    said = "the option changes no register: groups are what it asks for"
    if false:
        where = ", ".join(str(finding.subject.address) for finding in false)
        reason = f"{said}, and what {where} let through is not apart"
    else:
        reason = f"{said}; here no GPU or NIC of a switch is found open by it"
    return [
        Finding(
            ID,
            HOST,
            Severity.ERROR if false else Severity.WARNING,
            State.FAIL,
            Value(word, word),
            Value("groups that registers bear out"),
            reason,
            Remedy(RemedyKind.KERNEL_ARGS, "remove it and reboot; then look at the groups anew"),
        )
    ]
