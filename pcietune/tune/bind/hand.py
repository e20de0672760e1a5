"""Give one function to VFIO, or take it back, and undo that: steps that are each read back.

What a kill leaves is told by sysfs itself: a ``driver_override`` that names a VFIO driver, on a
function that VFIO does not have, is a binding that was begun.
"""

from dataclasses import dataclass

from pcietune.errors import ConfigSpaceError, IgnoredWriteError, InUseError, PcietuneError
from pcietune.model.binding import Binding
from pcietune.model.function import PciFunction
from pcietune.model.not_known import NotKnown
from pcietune.tune.bind.scene import (
    AUTOPROBE,
    OVERRIDE,
    Scene,
    override_of,
    physical_function,
)

_IN_USE_HINT = "stop the VM that uses it"


@dataclass(slots=True)
class Handed:
    """A function that is changing hands.

    Attributes:
        binding: As it was judged.
        before: The driver that had it; None if none had.
        override: What its ``driver_override`` was; None if not set.
        autoprobe: Of a VF, whether its PF's drivers were to take VFs, if that was changed; else
            None.
        begun: Whether anything may differ from how it was found.
    """

    binding: Binding
    before: str | NotKnown | None
    override: str | None
    autoprobe: str | None = None
    begun: bool = False

    @property
    def function(self) -> PciFunction:
        """The function."""
        return self.binding.function


def begin(binding: Binding, scene: Scene) -> Handed:
    """Return a function that is about to change hands, as it is now.

    Raises:
        InUseError: It is not as it was judged any more: a driver came or went, or another function
            appeared in its slot.
        ConfigSpaceError: It vanished.
    """
    function = binding.function
    _check_slot(function, scene)
    now, override = scene.drivers.driver(function), override_of(scene.host, function)
    if now != binding.driver and (now is None or now != override):
        raise InUseError(
            f"{function.address}: {now or 'no driver'} has it by now, no more "
            f"{binding.driver or 'no driver'}",
            hint="run pcietune again",
        )
    return Handed(binding, now, override)


def has_it(handed: Handed) -> bool:
    """Return whether its VFIO driver has a function already, which was idle when it was judged.

    The kernel gives it every function with its name as ``driver_override``, as early overrides
    leave them, when it is loaded for the first one.
    """
    return handed.before == handed.override == handed.binding.vfio_driver


def give(handed: Handed, scene: Scene, *, probes: bool) -> None:
    """Give a function to its VFIO driver; without ``probes`` only keep other drivers off it.

    Raises:
        InUseError: Something of the host has it by now; nothing was taken from it.
        IgnoredWriteError: The kernel took every step, and VFIO does not have it.
        PcietuneError: A step could not be taken.
    """
    function, driver = handed.function, handed.binding.vfio_driver
    _set_autoprobe(handed, scene, "0")
    _set_override(handed, scene, driver)
    if not probes:
        return
    handed.begun = True
    if handed.before is not None:
        held = scene.holds_now(function)  # an address may have come since it was judged
        if held:
            raise InUseError(f"{function.address} {held[0].text}, since a moment ago")
        scene.drivers.unbind(function)
    scene.drivers.probe(function)
    now = scene.drivers.driver(function)
    if now != driver:
        raise IgnoredWriteError(
            f"{function.address}: {driver} was to take it, but {now or 'no driver'} has it",
            hint="dmesg says why the driver did not take it",
        )


def let_go(handed: Handed, scene: Scene) -> None:
    """Take its override from a function that is not to be bound, and that no driver has.

    Raises:
        PcietuneError: It could not be taken away.
    """
    _set_override(handed, scene, None)


def take_back(handed: Handed, scene: Scene) -> None:
    """Take a function from VFIO and let its own driver have it, if there is one.

    Raises:
        InUseError: A VM has it open by now.
        IgnoredWriteError: A VFIO driver took it again.
        PcietuneError: A step could not be taken.
    """
    function = handed.function
    state = scene.host.state_again(function)
    if state.in_use_by_vfio:
        raise InUseError(f"{function.address} is in use by VFIO", hint=_IN_USE_HINT)
    _set_autoprobe(handed, scene, "1")
    _set_override(handed, scene, None)
    handed.begun = True
    if state.vfio:
        scene.drivers.unbind(function)
    if scene.drivers.driver(function) is None:
        scene.drivers.probe(function)
    if scene.host.state_again(function).vfio:
        raise IgnoredWriteError(
            f"{function.address}: {scene.drivers.driver(function)} took it again",
            hint="vfio-pci has its ids: look for ids= in /etc/modprobe.d and new_id",
        )


def undo(handed: Handed, scene: Scene) -> str | None:
    """Put a function back in the hands it was in; return what could not be, None if all was.

    What vanished has nothing to put back. A driver that is not VFIO's came by itself, and is not
    taken away for that.
    """
    if not handed.begun:
        return None
    function = handed.function
    try:
        state = scene.host.state_again(function)
    except ConfigSpaceError:
        return None
    try:
        now = scene.drivers.driver(function)
        if now != handed.before and state.in_use_by_vfio:
            return f"{function.address} is in use by VFIO already, and stays with {now}"
        _set_override(handed, scene, handed.override)
        if handed.autoprobe is not None:
            _set_autoprobe(handed, scene, handed.autoprobe)
        if now != handed.before and state.vfio:
            scene.drivers.unbind(function)
        if handed.before is not None and scene.drivers.driver(function) is None:
            scene.drivers.probe(function)
    except PcietuneError as error:
        return str(error)
    now = scene.drivers.driver(function)
    if now != handed.before:
        had, has = handed.before or "no driver", now or "no driver"
        return f"{function.address}: {had} had it, and {has} has it now"
    return None


def _check_slot(function: PciFunction, scene: Scene) -> None:
    """Do nothing if no function appeared in a function's slot since the host was looked at.

    Raises:
        InUseError: One did.
        ConfigSpaceError: The function vanished.
    """
    if scene.host.state_again(function).physical_function is not None:
        return
    known = scene.audited.fabric.functions
    for address in scene.drivers.in_slot(function):
        if address not in known:
            raise InUseError(
                f"{function.address}: {address} appeared beside it meanwhile",
                hint="run pcietune again: what shares a slot goes to VFIO together",
            )


def _set_override(handed: Handed, scene: Scene, driver: str | None) -> None:
    """Write ``driver_override``, unless it is so; an empty line clears it.

    Raises:
        IgnoredWriteError: It reads otherwise.
    """
    function = handed.function
    if override_of(scene.host, function) == driver:
        return
    handed.begun = True
    scene.host.write_attribute(function, OVERRIDE, driver or "")
    now = override_of(scene.host, function)
    if now != driver:
        raise IgnoredWriteError(
            f"{function.address}: {OVERRIDE} was to be {driver or 'empty'}, but reads {now}"
        )


def _set_autoprobe(handed: Handed, scene: Scene, wanted: str) -> None:
    """Let a VF's PF leave its VFs to who names them, or to its driver as usual.

    The kernel asks it at each probe of a VF without an override (drivers/pci/pci-driver.c,
    pci_device_can_probe).

    Raises:
        IgnoredWriteError: It reads otherwise.
    """
    physical = physical_function(scene, scene.host.state(handed.function))
    if physical is None:
        return
    found = scene.host.attribute_again(physical, AUTOPROBE)
    if found in (None, wanted):
        return
    handed.autoprobe = found
    handed.begun = True
    scene.host.write_attribute(physical, AUTOPROBE, wanted)
    now = scene.host.attribute_again(physical, AUTOPROBE)
    if now != wanted:
        raise IgnoredWriteError(f"{physical.address}: {AUTOPROBE} was to be {wanted}, reads {now}")
