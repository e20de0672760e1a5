"""What else a VFIO driver takes when it is loaded: all that has its name as ``driver_override``.

The kernel offers a new driver every function that has none (drivers/base/bus.c, bus_add_driver),
and early overrides, waiting functions and killed runs leave some with an override.
"""

from collections.abc import Collection

from pcietune.address import PciAddress
from pcietune.errors import InUseError
from pcietune.model.binding import Binding, BindState
from pcietune.model.vfio_drivers import names_vfio_driver
from pcietune.tune.bind.scene import Scene, override_of
from pcietune.tune.vfio_use import named


def is_left_over(scene: Scene, binding: Binding) -> bool:
    """Return whether a function is wanted, but blocked, and would be taken all the same."""
    return (
        binding.state is BindState.BLOCKED
        and binding.wanted
        and binding.driver is None
        and names_vfio_driver(binding.override)
        and not scene.audited.protection.covers(binding.function.address)
    )


def load(scene: Scene, driver: str, due: Collection[PciAddress]) -> None:
    """Have the kernel know a driver, unless that would bind more than is due.

    Raises:
        InUseError: It would.
        NotPermittedError: The driver cannot be loaded.
    """
    if scene.drivers.knows(driver):
        return
    others = [
        function
        for function in scene.audited.fabric.functions.values()
        if function.address not in due
        and not function.is_pci_bridge
        and override_of(scene.host, function) == driver
        and scene.drivers.driver(function) is None
    ]
    if others:
        raise InUseError(
            f"{driver} is not loaded: that would give it {named(others)}, too, whose "
            "driver_override names it",
            hint="name all of them at once, or take the others back: pcietune vfio unbind",
        )
    scene.drivers.load(driver)
