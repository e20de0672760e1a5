"""Judge what VFIO has to give back, and what stands against that."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from pcietune.address import PciAddress
from pcietune.model.binding import Binding, BindState
from pcietune.model.function import PciFunction
from pcietune.model.vfio_drivers import names_vfio_driver
from pcietune.tune.bind.as_found import as_found
from pcietune.tune.bind.judge import Judged
from pcietune.tune.bind.scene import Scene
from pcietune.tune.bind.together import units


def judge_release(
    scene: Scene, functions: Iterable[PciFunction], asked: Collection[PciAddress]
) -> list[Judged]:
    """Return the functions and what goes with them, unit by unit.

    Args:
        scene: What decides.
        functions: Which.
        asked: Those of them that somebody wants back.
    """
    found = [
        tuple(_judge(scene, function, asked) for function in unit)
        for unit in units(scene, functions)
    ]
    return [_as_one(unit) for unit in found]


def may_go(unit: Judged) -> bool:
    """Return whether something of a unit is left to take back, and may be."""
    states = {b.state for b in unit}
    return BindState.BLOCKED not in states and states != {BindState.FREE}


def _judge(scene: Scene, function: PciFunction, asked: Collection[PciAddress]) -> Binding:
    binding, state = as_found(scene, function, wanted=function.address in asked)
    if state is None:
        return binding
    if state.vfio is None:
        return replace(binding, why=("whether VFIO has it is not known",))
    if not state.vfio and not names_vfio_driver(binding.override):
        return replace(binding, state=BindState.FREE)
    protected = scene.audited.protection.why.get(function.address)
    if protected is not None:
        return replace(binding, why=(f"is protected: {protected}",))
    if state.in_use_by_vfio:
        return replace(binding, why=("is in use by VFIO: stop the VM that has it",))
    found = BindState.BOUND if state.vfio else BindState.HALF_BOUND
    return replace(binding, state=found, steps=tuple(_steps(binding, given=state.vfio)))


def _steps(binding: Binding, *, given: bool) -> Iterator[str]:
    """Yield what takes a function back, as commands of a shell."""
    address = binding.function.address
    device = f"/sys/bus/pci/devices/{address}"
    if binding.override is not None:
        yield f"echo > {device}/driver_override"
    if given:
        yield f"echo {address} > {device}/driver/unbind"
    if given or binding.driver is None:
        yield f"echo {address} > /sys/bus/pci/drivers_probe"


def _as_one(unit: Judged) -> Judged:
    """Return the unit; where one of it is blocked, all are, and say by whom."""
    blocked = [b for b in unit if b.state is BindState.BLOCKED]
    names = ", ".join(str(b.function.address) for b in blocked)
    why = (f"comes back only together with {names}",)
    return tuple(
        b
        if not blocked or b in blocked or b.state is BindState.FREE
        else replace(b, state=BindState.BLOCKED, why=why, steps=())
        for b in unit
    )
