"""Judge by what apply saw: where the kernel was to turn ATS on and did not, it is not pending."""

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import replace

from pcietune.model.ats_proof import AtsProof
from pcietune.model.finding import Remedy, RemedyKind, State
from pcietune.tune.ats.action import AtsAction
from pcietune.tune.ats.judge_ats import JudgedAts

_TRIED = (AtsAction.PROVE, AtsAction.HEAL)
_SEEN = "apply had the kernel translate for it in this boot, and ATS Enable stayed off"
_REMEDY = Remedy(
    RemedyKind.BIOS,
    "turn on ATS in the firmware's setup, so that its tables (DMAR ATSR, IORT) name the root port; "
    "dmesg may tell more",
)


def with_disproofs(
    judged: Iterable[JudgedAts], disproofs: AbstractSet[AtsProof]
) -> list[JudgedAts]:
    """Return the judgements, where those that a trial has refuted fail, and are not tried again."""
    return [_refuted(each) if _is_refuted(each, disproofs) else each for each in judged]


def _is_refuted(judged: JudgedAts, disproofs: AbstractSet[AtsProof]) -> bool:
    """Return whether it is open what becomes of the function's ATS, and a trial has shown it."""
    tried = AtsProof(judged.function.location, judged.function.id) in disproofs
    return tried and judged.finding.state in (State.PENDING, State.FAIL)


def _refuted(judged: JudgedAts) -> JudgedAts:
    finding = judged.finding
    if finding.state is State.PENDING:
        failing = replace(finding, state=State.FAIL, reason=_SEEN, remedy=_REMEDY)
        return replace(judged, finding=failing, action=None)
    failing = replace(finding, reason=f"{finding.reason}; {_SEEN}")
    if judged.action not in _TRIED:
        return replace(judged, finding=failing)
    return replace(judged, finding=replace(failing, remedy=_REMEDY), action=None)
