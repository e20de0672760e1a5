"""Apply a plan: all changes of a switch group or none of them, then what the kernel is to do."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from pcietune.errors import (
    ExitCode,
    InconsistentHostError,
    NotPermittedError,
    PcietuneError,
    RolledBackError,
)
from pcietune.model.access import HostAccess
from pcietune.model.ats_proof import AtsTrials
from pcietune.model.done import Done, GroupFailure, SwitchDone
from pcietune.model.plan import HeldBack, Plan, PlannedStep
from pcietune.model.undo import UndoStore
from pcietune.tune.change.make_change import begin, make, put_back, read_again
from pcietune.tune.change.switch_type import switch_type

_TRY = "pcietune restore tries again; a reboot resets the registers"


@dataclass(slots=True)
class Applied:
    """What a run of apply did.

    Attributes:
        kept: Changes that stand.
        switched: IOMMU groups whose type was switched and put back.
        held: Switches that could not be made though they were planned.
        failures: Switch groups that could not be changed.
        interrupted: Whether it was asked to stop, and undid all it had written.
    """

    kept: list[Done] = field(default_factory=list)
    switched: list[SwitchDone] = field(default_factory=list)
    held: list[HeldBack] = field(default_factory=list)
    failures: list[GroupFailure] = field(default_factory=list)
    interrupted: bool = False

    @property
    def trials(self) -> AtsTrials:
        """What was seen the kernel do about functions' ATS."""
        return AtsTrials(
            frozenset(done.planned.proof for done in self.switched if done.enabled),
            frozenset(done.planned.proof for done in self.switched if not done.enabled),
        )

    def exit_code(self) -> ExitCode:
        """Return the exit code that the run alone asks for."""
        codes = [failure.error.exit_code for failure in self.failures]
        if self.interrupted:
            codes.append(ExitCode.INTERRUPTED)
        return ExitCode.of_several(codes)


def apply(
    plan: Plan,
    host: HostAccess,
    undo: UndoStore,
    *,
    stop: Callable[[], bool],
    progress: Callable[[PlannedStep], None],
) -> Applied:
    """Take the plan's steps, one switch group after the other.

    A group in which a change fails is rolled back and the next one is begun; but a refusal by the
    kernel or an undo record that cannot be kept would meet every group, so it ends the run. A
    group's switches come when its changes stand, and each is by itself: it ends where it began.

    Args:
        plan: What to do.
        host: Where.
        undo: Has recorded each change before it is made.
        stop: Asked before each step whether to stop; then everything of this run is undone.
        progress: Told of each step before it is taken.
    """
    run = _Run(plan, host, undo, stop, progress)
    for name in dict.fromkeys(step.group for step in plan.steps):
        if not run.change(name) or not run.switch(name):
            break
    for done in run.applied.kept:
        read_again(done, host)
    return run.applied


@dataclass(slots=True)
class _Run:
    """One run at work; each method returns whether to go on with the next switch group."""

    plan: Plan
    host: HostAccess
    undo: UndoStore
    stop: Callable[[], bool]
    progress: Callable[[PlannedStep], None]
    applied: Applied = field(default_factory=Applied)
    failed: set[str] = field(default_factory=set)

    def change(self, name: str) -> bool:
        """Make all changes of a switch group or none of them."""
        begun: list[Done] = []
        try:
            for planned in self.plan.writes:
                if planned.group != name:
                    continue
                if self.stop():
                    break
                self.progress(planned)
                done = begin(planned, self.host, self.undo)
                begun.append(done)
                make(done, self.host)
            if begun and not self.stop():
                self.undo.settle(name, kept=True)
        except PcietuneError as error:
            self.failed.add(name)
            self.applied.failures.append(GroupFailure(name, self._roll_back(begun, name, error)))
            return not isinstance(error, NotPermittedError)
        except BaseException:  # whatever it is must not leave a switch group half changed
            stuck = _undo(begun, self.host)
            if not stuck:
                with suppress(NotPermittedError):
                    self.undo.settle(name, kept=False)
            raise
        if self.stop():
            self._undo_all(begun)
            return False
        self.applied.kept += begun
        return True

    def switch(self, name: str) -> bool:
        """Switch the type of IOMMU groups and back, unless the switch group's changes failed."""
        for planned in self.plan.switches:
            if planned.group != name or name in self.failed:
                continue
            if self.stop():
                self._undo_all([])
                return False
            self.progress(planned)
            try:
                self.applied.switched.append(switch_type(planned, self.host, self.undo))
            except (InconsistentHostError, NotPermittedError) as error:
                self.applied.failures.append(GroupFailure(name, error))
                if isinstance(error, NotPermittedError):
                    return False
            except PcietuneError as error:
                self.applied.held.append(HeldBack(planned, str(error)))
        return True

    def _roll_back(self, begun: list[Done], name: str, error: PcietuneError) -> PcietuneError:
        """Undo a group's changes and return the error to tell: with how that went."""
        stuck = _undo(begun, self.host)
        if stuck:
            return InconsistentHostError(
                f"{error}; undoing failed too: {'; '.join(stuck)}", hint=_TRY
            )
        with suppress(NotPermittedError):  # then the record shows changes begun, which is true too
            self.undo.settle(name, kept=False)
        if not any(done.made for done in begun):
            return error
        return RolledBackError(f"{error}; the switch group is as it was found", hint=error.hint)

    def _undo_all(self, begun: list[Done]) -> None:
        """Undo everything of this run, last first."""
        self.applied.interrupted = True
        done = [*self.applied.kept, *begun]
        self.applied.kept.clear()
        stuck = _undo(done, self.host)
        if stuck:
            error = InconsistentHostError(
                f"interrupted; undoing failed: {'; '.join(stuck)}", hint=_TRY
            )
            self.applied.failures.append(GroupFailure(done[-1].planned.group, error))
            return
        with suppress(NotPermittedError):  # as in _roll_back
            for name in dict.fromkeys(each.planned.group for each in done):
                self.undo.settle(name, kept=False)


def _undo(done: list[Done], host: HostAccess) -> list[str]:
    """Put back every change, last first; return what could not be put back."""
    stuck = []
    for each in reversed(done):
        try:
            differs = put_back(each, host)
        except PcietuneError as failure:
            differs = str(failure)
        if differs is not None:
            stuck.append(differs)
    return stuck
