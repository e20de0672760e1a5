"""Judge a function's ATS by when the kernel turns it on, and say what apply may do about it."""

from dataclasses import replace

from pcietune.model.finding import Remedy, RemedyKind, State
from pcietune.model.profile import AtsPolicy
from pcietune.tune.ats.action import AtsAction
from pcietune.tune.ats.firmware import cause_of_loss
from pcietune.tune.ats.row import AtsRow
from pcietune.tune.ats.situation import Domain, situation
from pcietune.tune.ats.subject import AtsSubject
from pcietune.tune.ats.table import row_for
from pcietune.tune.ats.verdict import Verdict

_REMEDIES = {
    AtsAction.PROVE: Remedy(
        RemedyKind.SOFTWARE, "pcietune apply has the kernel turn it on for a moment, as a proof"
    ),
    AtsAction.HEAL: Remedy(
        RemedyKind.SOFTWARE, "pcietune apply has the kernel turn it off and on again"
    ),
    AtsAction.FORCE: Remedy(
        RemedyKind.REGISTER,
        "pcietune apply --force-ats, which risks faults where the IOMMU does not allow it, and DMA "
        "to memory that was freed where it does: the kernel sends no invalidations",
    ),
}


def judge_by_kernel(subject: AtsSubject, policy: AtsPolicy, *, proved: bool) -> Verdict:
    """Judge the ATS of a function that nothing hinders from having it."""
    state = subject.state
    found = situation(
        subject.platform, subject.function, state, enabled=subject.ats.enabled, proved=proved
    )
    row = row_for(found)
    verdict = _filled_in(row, subject)
    match policy:
        case AtsPolicy.ENSURE:
            return _ensured(verdict, row, subject)
        case AtsPolicy.FORCE if (
            row.state is State.FAIL and not found.enabled and found.domain is not Domain.NONE
        ):
            return _forced(verdict, subject)
        case _:
            return verdict


def _filled_in(row: AtsRow, subject: AtsSubject) -> Verdict:
    group = subject.platform.group(subject.state.group)
    driver = subject.function.driver
    reason = row.reason.format(
        domain=None if group is None else group.type,
        use="idle" if driver is None or subject.state.vfio else f"bound to {driver}",
        cause=cause_of_loss(subject),
    )
    remedy = row.remedy
    if remedy is not None:
        command = remedy.command.format(address=subject.function.address, driver=driver)
        remedy = replace(remedy, command=command)
    return Verdict(row.state, reason, remedy, row.severity)


def _ensured(verdict: Verdict, row: AtsRow, subject: AtsSubject) -> Verdict:
    if row.action is None:
        return verdict
    group = subject.platform.group(subject.state.group)
    if group is None or group.members != (subject.function.address,):
        reason = f"{verdict.reason}; apply leaves it, as its IOMMU group has other members"
        return replace(verdict, reason=reason)
    return replace(verdict, action=row.action, remedy=_REMEDIES[row.action])


def _forced(verdict: Verdict, subject: AtsSubject) -> Verdict:
    """Ask for the raw write, where it is not out of the question (pci_enable_ats, pci/ats.c)."""
    if subject.state.physical_function is not None:
        reason = "it is not forced, as a VF's STU is its PF's"
    elif subject.state.vfio:
        reason = "it is not forced, as it is bound to VFIO"
    else:
        return replace(verdict, action=AtsAction.FORCE, remedy=_REMEDIES[AtsAction.FORCE])
    return replace(verdict, reason=f"{verdict.reason}; {reason}")
