"""Bind what was judged, or take it back, unit by unit: all of a unit or none of it."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace

from pcietune.address import PciAddress
from pcietune.errors import (
    InconsistentHostError,
    InUseError,
    NotPermittedError,
    PcietuneError,
    RolledBackError,
)
from pcietune.model.binding import GIVEN, HANDED_BACK, Binding, BindState, Bound
from pcietune.model.function import PciFunction
from pcietune.tune.bind.hand import Handed, begin, give, has_it, let_go, take_back, undo
from pcietune.tune.bind.judge import Judged, flat, is_open
from pcietune.tune.bind.judge_release import may_go
from pcietune.tune.bind.loading import is_left_over, load
from pcietune.tune.bind.scene import Scene, override_of

_TRY = "pcietune vfio show says how it is now"
_LET_GO = "its driver_override is taken away, lest VFIO gets it with the next that it gets"


def bind(
    scene: Scene,
    units: Iterable[Judged],
    *,
    stop: Callable[[], bool],
    probes: Callable[[PciFunction], bool] = lambda _: True,
) -> Bound:
    """Bind every unit that nothing stands against; tell of all of them.

    What is blocked loses an override that an earlier run or an initramfs left it. A unit in which a
    step fails is put back as it was, and the next one is begun; but what the
    kernel does not permit would meet every unit, so it ends the run.

    Args:
        scene: What decides, and what does it.
        units: As they were judged a moment ago.
        stop: Asked before each function whether to stop; then everything of this run is undone.
        probes: Whether a function is to be bound at once, or only to have its override.
    """

    def act(handed: Handed) -> None:
        if has_it(handed):
            return
        whole = probes(handed.function)
        if whole:
            load(scene, handed.binding.vfio_driver, due)
        give(handed, scene, probes=whole)

    run = _Run(scene, act, stop, Bound())
    units = [run.without_left_overs(unit) for unit in units]
    due = {b.function.address for unit in units if is_open(unit) for b in unit}
    for unit in units:
        run.take_on(unit, [b for b in unit if b.state not in GIVEN] if is_open(unit) else [])
    return run.end(BindState.WAITING)


def release(scene: Scene, units: Iterable[Judged], *, stop: Callable[[], bool]) -> Bound:
    """Take every unit back from VFIO that nothing stands against; as ``bind``."""
    bound = Bound(settled=HANDED_BACK)
    run = _Run(scene, lambda handed: take_back(handed, scene), stop, bound)
    for unit in units:
        run.take_on(
            unit, [b for b in unit if b.state is not BindState.FREE] if may_go(unit) else []
        )
    return run.end(BindState.FREE)


@dataclass(slots=True)
class _Run:
    """One run at work."""

    scene: Scene
    act: Callable[[Handed], None]
    stop: Callable[[], bool]
    bound: Bound
    seen: list[Binding] = field(default_factory=list)
    done: list[Handed] = field(default_factory=list)
    freed: list[Handed] = field(default_factory=list)
    failed: dict[PciAddress, PcietuneError] = field(default_factory=dict)
    ended: bool = False

    def without_left_overs(self, unit: Judged) -> Judged:
        """Return a unit; what is blocked of it has no override any more that VFIO would heed."""
        return tuple(
            self._let_go(binding) if is_left_over(self.scene, binding) else binding
            for binding in unit
        )

    def _let_go(self, binding: Binding) -> Binding:
        try:
            handed = begin(binding, self.scene)
            let_go(handed, self.scene)
        except PcietuneError as error:
            self.bound.errors.append(error)
            return binding
        self.freed.append(handed)
        return replace(binding, why=(*binding.why, _LET_GO))

    def take_on(self, unit: Judged, due: list[Binding]) -> None:
        """Act on what is due of a unit, on all of it or none."""
        self.seen += unit
        if not due or self.ended:
            return
        begun: list[Handed] = []
        try:
            for binding in due:
                if self.stop():
                    self.bound.interrupted = self.ended = True
                    break
                handed = begin(binding, self.scene)
                begun.append(handed)
                self.act(handed)
        except PcietuneError as error:
            told = self._roll_back(begun, error)
            self.bound.errors.append(told)
            self.failed |= dict.fromkeys((b.function.address for b in due), told)
            self.ended = isinstance(error, NotPermittedError)
            return
        except BaseException:  # whatever it is must not leave a unit half bound
            _undo(begun, self.scene)
            raise
        self.done += begun

    def end(self, goal: BindState) -> Bound:
        """Return what became of all; ``goal`` is the state of what was acted on, but not bound."""
        if self.bound.interrupted:
            stuck = _undo([*self.freed, *self.done], self.scene)
            self.done.clear()
            self.freed.clear()
            if stuck:
                told = f"interrupted; undoing failed: {'; '.join(stuck)}"
                self.bound.errors.append(InconsistentHostError(told, hint=_TRY))
        acted = {handed.function.address for handed in self.done}
        after = [self._after(binding, goal, acted) for binding in self.seen]
        self.bound.bindings = flat([tuple(after)])
        self.bound.changed = any(handed.begun for handed in (*self.freed, *self.done))
        return self.bound

    def _roll_back(self, begun: list[Handed], error: PcietuneError) -> PcietuneError:
        changed = any(handed.begun for handed in begun)
        stuck = _undo(begun, self.scene)
        if stuck:
            return InconsistentHostError(
                f"{error}; undoing failed too: {'; '.join(stuck)}", hint=_TRY
            )
        if not changed or isinstance(error, InUseError):
            return error
        return RolledBackError(f"{error}; all is as it was found", hint=error.hint)

    def _after(self, binding: Binding, goal: BindState, acted: Collection[PciAddress]) -> Binding:
        """Return a binding as it is now."""
        function = binding.function
        try:
            state = self.scene.host.state_again(function)
        except PcietuneError as vanished:
            return replace(binding, driver=None, state=BindState.BLOCKED, why=(str(vanished),))
        now = replace(
            binding,
            driver=self.scene.drivers.driver(function),
            override=override_of(self.scene.host, function),
        )
        error = self.failed.get(function.address)
        if error is not None:
            return replace(now, state=BindState.FAILED, why=(str(error),))
        if function.address not in acted:
            return now
        if state.vfio:
            return replace(now, state=BindState.BOUND, why=())
        return replace(now, state=goal)


def _undo(begun: list[Handed], scene: Scene) -> list[str]:
    """Undo all, last first; return what could not be."""
    return [stuck for handed in reversed(begun) if (stuck := undo(handed, scene)) is not None]
