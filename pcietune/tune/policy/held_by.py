"""What of a gate's judgement a hook is told, since it cannot judge it: it sees one function."""

from dataclasses import replace

from pcietune.errors import PcietuneError
from pcietune.model.access import HostAccess
from pcietune.model.finding import Finding, State
from pcietune.model.function import PciFunction
from pcietune.model.profile import AtsPolicy
from pcietune.model.severity import Severity
from pcietune.registers.ats import Ats
from pcietune.tune.ats.judge_ats import ID as NIC_ATS
from pcietune.tune.audit.audit import Audit
from pcietune.tune.audit.concerning import standing_against
from pcietune.tune.audit.waive import waive

_ON = (AtsPolicy.ENSURE, AtsPolicy.JUDGE, AtsPolicy.FORCE)


def held_by(host: HostAccess, audited: Audit, function: PciFunction) -> tuple[str, ...]:
    """Return the ids of findings that keep a function from VFIO, whatever a hook then sees.

    Not of ports' controls, nor of an ATS capability that is missing: these a hook looks at itself,
    and whoever takes a card out may have come to mend that.
    """
    ports = {(bit.finding.id, bit.finding.subject.path) for bit in audited.bits}
    against = (
        finding
        for finding in standing_against(host, audited.findings, function)
        if (finding.id, finding.subject.path) not in ports
        and not (finding.id == NIC_ATS and _lacks_ats(host, function))
    )
    return tuple(sorted({finding.id for finding in against}))


def needs_ats(audited: Audit, nic: PciFunction, policy: AtsPolicy) -> bool:
    """Return whether what is handed over of a NIC fails without an ATS capability.

    Args:
        audited: The host.
        nic: A NIC; of one whose VFs are handed over, these are judged as soon as there are any.
        policy: What its duty wants.
    """
    severity = audited.profile.severities.get(NIC_ATS, Severity.ERROR)
    if policy not in _ON or severity is not Severity.ERROR:
        return False
    port = nic.location.rpartition("/")[0]  # is above its VFs, too
    return any(
        judged.finding.id == NIC_ATS
        and judged.function.location.rpartition("/")[0] == port
        and _would_count(audited, judged.finding)
        for judged in audited.ats
    )


def _would_count(audited: Audit, finding: Finding) -> bool:
    """Return whether it is asked for, and not waived if it fails."""
    if finding.state is State.NOT_APPLICABLE:
        return False
    failing, yardstick = replace(finding, state=State.FAIL), audited.yardstick
    return waive(failing, yardstick.waivers, yardstick.today) is failing


def _lacks_ats(host: HostAccess, function: PciFunction) -> bool:
    try:
        return Ats.find(host.config(function)) is None
    except PcietuneError:
        return False
