"""What of a plan is done now: not what was repaired too often of late."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from pcietune.model.access import HostAccess
from pcietune.model.finding import Finding, State
from pcietune.model.function import PciFunction
from pcietune.model.plan import HeldBack, Plan, PlannedStep
from pcietune.tune.audit.audit import Audit
from pcietune.tune.change.plan import plan
from pcietune.tune.watch.back_off import BackOff, Want
from pcietune.tune.watch.notice import Notice, NoticeKind, about

_OPEN = (State.FAIL, State.PENDING)


@dataclass(frozen=True, slots=True)
class Repairs:
    """What is to be done about a host that was judged.

    Attributes:
        plan: The steps that may be taken now.
        paused: What would be a step, but waits since it was repaired again and again.
    """

    plan: Plan
    paused: tuple[Want, ...] = ()


NO_REPAIRS = Repairs(Plan())


def repairs(host: HostAccess, audited: Audit, back_off: BackOff, now: float) -> Repairs:
    """Return what may be done now; a fact that waits keeps no other fact of its port waiting.

    Never under a function in use, and never ATS Enable by hand: both need somebody who types it.
    """
    everything = plan(host, audited, while_in_use=False)
    wants = wants_of(everything.steps)
    paused = [want for want in wants if not back_off.may_repair(want, now)]
    if not paused:
        return Repairs(everything)
    left = replace(
        audited,
        bits=tuple(b for b in audited.bits if not _waits(b.finding, paused)),
        ats=tuple(j for j in audited.ats if not _waits(j.finding, paused)),
        power=tuple(j for j in audited.power if not _waits(j.finding, paused)),
    )
    return Repairs(plan(host, left, while_in_use=False), tuple(paused))


def wants_of(steps: Iterable[PlannedStep]) -> list[Want]:
    """Return the facts that steps mend, each once."""
    wants = [(s.function.location, name) for s in steps for name in s.finding_ids]
    return list(dict.fromkeys(wants))


def note_repairs(steps: Sequence[PlannedStep], back_off: BackOff, now: float) -> list[Notice]:
    """Count what was repaired just now; return what to tell of facts that will have to wait."""
    notices = []
    for step in steps:
        for name, want in zip(step.finding_ids, step.wants, strict=False):
            pause = back_off.repaired((step.function.location, name), now)
            if pause is not None:
                notices.append(_again_and_again(step.function, name, want, pause))
    return notices


def deferred(held: Iterable[HeldBack]) -> list[Notice]:
    """Return what to tell of steps that wait."""
    return [
        about(
            each.planned.function,
            NoticeKind.DEFERRED,
            f"deferred {each.planned.register} {' '.join(each.planned.wants)}: {each.reason}",
            register=each.planned.register,
            wants=" ".join(each.planned.wants),
        )
        for each in held
    ]


def _waits(finding: Finding, paused: Sequence[Want]) -> bool:
    return finding.state in _OPEN and (finding.subject.path, finding.id) in paused


def _again_and_again(function: PciFunction, name: str, want: str, pause_s: float) -> Notice:
    return about(
        function,
        NoticeKind.HELD_BACK,
        f"something keeps undoing {want}: it is repaired again in {pause_s:.0f} s at the earliest",
        finding=name,
        want=want,
        pause_s=f"{pause_s:.0f}",
    )
