"""One repair of watch: what apply would write unattended, but for what must wait."""

from collections.abc import Callable, Collection
from dataclasses import dataclass

from pcietune.address import PciAddress
from pcietune.cli.changing import Changing
from pcietune.cli.examining import Examined, examined
from pcietune.cli.gating import scene_of
from pcietune.cli.judging import collecting
from pcietune.cli.keeping import leave_policy
from pcietune.errors import PcietuneError
from pcietune.host.run.hosts_own import read_hosts_own
from pcietune.host.run.lock import locked
from pcietune.host.sysfs import SysfsHost
from pcietune.model.plan import PlannedStep
from pcietune.report.written import Written, line, writes
from pcietune.tune.bind.candidates import wanted
from pcietune.tune.change.channels import check_ways
from pcietune.tune.change.put_back import GROUP_TYPE
from pcietune.tune.watch.back_off import BackOff
from pcietune.tune.watch.hand_over import hand_over
from pcietune.tune.watch.notice import Notice, NoticeKind, about
from pcietune.tune.watch.repairs import note_repairs, repairs
from pcietune.tune.watch.seen import Seen

_LOCK_WAIT_S = 0.5  # then it is tried again later, so that a signal to end is heard in time


@dataclass(frozen=True, slots=True)
class Repaired:
    """How a repair went.

    Attributes:
        notices: What to tell.
        errors: What kept it from being made, or ended it.
        found: The host as it was judged last; None if that could not be done.
    """

    notices: list[Notice]
    errors: list[PcietuneError]
    found: Examined | None = None


def repair(
    host: SysfsHost,
    added: Collection[PciAddress],
    seen: Seen,
    back_off: BackOff,
    clock: Callable[[], float],
) -> Repaired:
    """Judge the whole host again under the lock, write what may be written now, and judge anew.

    What was begun is ended, whatever signal comes: a switch group's writes take no time. The
    policy of the udev hook is left as apply leaves it, and functions that were just added pass
    the gate, as the hook may have given way to this lock.
    """
    try:
        with locked(host.files, "watch", wait_s=_LOCK_WAIT_S, on_wait=lambda _: None):
            with examined(host) as found:
                notices = _repair(found, added, seen, back_off, clock)
            return Repaired(notices, found.outcome.errors, found)
    except PcietuneError as error:
        return Repaired([], [error])


def _repair(
    found: Examined,
    added: Collection[PciAddress],
    seen: Seen,
    back_off: BackOff,
    clock: Callable[[], float],
) -> list[Notice]:
    outcome = found.outcome
    look = found.look((), whole=True)
    if outcome.audit is None or look is None or not found.may_write:
        return []
    notices = seen.tell(look)
    with collecting(outcome):
        outcome.plan = repairs(found.host, outcome.audit, back_off, clock()).plan
        changing = Changing(found.host, outcome.audit, outcome.plan)
        if changing.needed:
            check_ways(found.host, outcome.plan)
            changing.carry_out(outcome, stop=lambda: False, progress=lambda _: None)
            notices += _made(found, back_off, clock())
        leave_policy(found.host, outcome.audit, enforce=True, unattended=True)
        if added and not found.host.recorded and wanted(found.host, outcome.audit):
            notices += hand_over(
                scene_of(found.host, outcome.audit, read_hosts_own(found.host.files)), added
            )
    after = found.look((), whole=True)
    if after is not None:
        seen.adopt(after)
    return notices


def _made(found: Examined, back_off: BackOff, now: float) -> list[Notice]:
    applied, planned = found.outcome.applied, found.outcome.plan
    if applied is None or planned is None:
        return []
    notices = [
        about(
            written.function,
            NoticeKind.REPAIRED,
            _said(written),
            register=written.register,
            old=written.old,
            new=written.new,
            readback=written.readback or "",
        )
        for written in writes(found.outcome)
    ]
    notices += [
        Notice(NoticeKind.FAILED, f"switch group {each.group}: {each.error}", location=each.group)
        for each in applied.failures
    ]
    failed = {failure.group for failure in applied.failures}
    tried: list[PlannedStep] = [
        *(done.planned for done in applied.kept),
        *(done.planned for done in applied.switched),
        *(held.planned for held in applied.held),
        *(step for step in planned.steps if step.group in failed),
    ]
    return [*notices, *note_repairs(tried, back_off, now)]


def _said(written: Written) -> str:
    """Return a write as a line without the address; a group's type is only tried and put back."""
    verb = "tried" if written.register == GROUP_TYPE else "repaired"
    return f"{verb} {line(written).removeprefix(f'{written.function.address}  ')}, reads " + (
        written.readback or "nothing"
    )
