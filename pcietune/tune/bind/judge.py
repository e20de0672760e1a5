"""Judge functions: what VFIO has, what it can get, and what stands against that."""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace

from pcietune.address import PciAddress
from pcietune.model.binding import GIVEN, Binding, BindState
from pcietune.model.function import FunctionState, PciFunction
from pcietune.tune.bind.as_found import as_found
from pcietune.tune.bind.blocks import blocks
from pcietune.tune.bind.candidates import policy_of
from pcietune.tune.bind.scene import AUTOPROBE, OVERRIDE, Scene, physical_function
from pcietune.tune.bind.together import Unit, units

_DEVICES = "/sys/bus/pci/devices"

Judged = tuple[Binding, ...]
"""What goes together, each function judged: bound as a whole, or left as a whole."""


def judge(
    scene: Scene,
    functions: Iterable[PciFunction],
    asked: Collection[PciAddress],
    *,
    takes: bool,
    probes: Callable[[PciFunction], bool] = lambda _: True,
) -> list[Judged]:
    """Return the functions and what goes with them, unit by unit.

    Args:
        scene: What decides.
        functions: Which.
        asked: Those of them that somebody wants bound.
        takes: Whether functions may be taken from another driver.
        probes: Whether a function is to be bound at once, or only to have its override.
    """
    return [
        _as_one(tuple(_judge(scene, f, unit, asked, takes=takes, probes=probes) for f in unit))
        for unit in units(scene, functions)
    ]


def _judge(  # noqa: PLR0913 -- one parameter per thing that decides
    scene: Scene,
    function: PciFunction,
    unit: Unit,
    asked: Collection[PciAddress],
    *,
    takes: bool,
    probes: Callable[[PciFunction], bool],
) -> Binding:
    binding, state = as_found(scene, function, wanted=function.address in asked)
    if state is None:
        return binding
    if state.vfio:
        given = BindState.IN_USE if state.in_use_by_vfio else BindState.BOUND
        return replace(binding, state=given)
    why = tuple(blocks(scene, function, state, unit, takes=takes))
    if why:
        return replace(binding, why=why)
    return _open(scene, binding, state, probes=probes(function))


def _open(scene: Scene, binding: Binding, state: FunctionState, *, probes: bool) -> Binding:
    """Return a binding against which nothing stands, with its steps."""
    after = policy_of(scene.audited, binding.function).after
    if probes:
        half = binding.override is not None
        found = BindState.HALF_BOUND if half else BindState.READY
    else:
        done = binding.override is not None
        found = BindState.WAITING if done else BindState.READY
    why = () if probes else (f"is bound when {after} is up",)
    steps = tuple(_steps(scene, binding, state, probes=probes))
    return replace(binding, state=found, why=why, steps=steps)


def _steps(scene: Scene, binding: Binding, state: FunctionState, *, probes: bool) -> Iterator[str]:
    """Yield what gives a function to VFIO, as commands of a shell."""
    address, driver = binding.function.address, binding.vfio_driver
    device = f"{_DEVICES}/{address}"
    physical = physical_function(scene, state)
    if physical is not None and scene.host.attribute_again(physical, AUTOPROBE) == "1":
        yield f"echo 0 > {_DEVICES}/{physical.address}/{AUTOPROBE}"
    if probes:
        yield f"modprobe {driver}"
    if binding.override is None:
        yield f"echo {driver} > {device}/{OVERRIDE}"
    if binding.driver is not None:
        yield f"echo {address} > {device}/driver/unbind"
    if probes:
        yield f"echo {address} > /sys/bus/pci/drivers_probe"


def _as_one(unit: Judged) -> Judged:
    """Return the unit; where one of it is blocked, what is not bound yet is, and says by whom."""
    blocked = [b for b in unit if b.state is BindState.BLOCKED]
    if not blocked:
        return unit
    names = ", ".join(str(b.function.address) for b in blocked)
    why = (f"goes to VFIO only together with {names}",)
    return tuple(
        b
        if b in blocked or b.state in GIVEN
        else replace(b, state=BindState.BLOCKED, why=why, steps=())
        for b in unit
    )


def is_open(unit: Judged) -> bool:
    """Return whether something of a unit is left to bind, and may be."""
    blocked = any(b.state is BindState.BLOCKED for b in unit)
    return not blocked and any(b.state not in GIVEN for b in unit)


def flat(units: Iterable[Judged]) -> tuple[Binding, ...]:
    """Return every binding, by address."""
    return tuple(sorted((b for unit in units for b in unit), key=lambda b: b.function.address))
