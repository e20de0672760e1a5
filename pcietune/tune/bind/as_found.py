"""A function as it is now, before anything is judged of it."""

from dataclasses import replace

from pcietune.errors import PcietuneError
from pcietune.model.binding import Binding, BindState
from pcietune.model.function import FunctionState, PciFunction
from pcietune.model.vfio_drivers import names_vfio_driver
from pcietune.tune.bind.candidates import role_of
from pcietune.tune.bind.scene import Scene, override_of


def as_found(
    scene: Scene, function: PciFunction, *, wanted: bool
) -> tuple[Binding, FunctionState | None]:
    """Return a binding that is still to be judged, and the function's state; None if it vanished.

    The driver for VFIO is the one that its override names already, else the one that fits best.
    """
    override = override_of(scene.host, function)
    begun = override is not None and names_vfio_driver(override)
    binding = Binding(
        function=function,
        role=role_of(scene.host, scene.audited, function),
        wanted=wanted,
        driver=scene.drivers.driver(function),
        override=override,
        vfio_driver=override if begun and override else scene.vfio.driver_for(function),
        group=None,
        state=BindState.BLOCKED,
    )
    try:
        state = scene.host.state_again(function)
    except PcietuneError:
        return replace(binding, why=("vanished",)), None
    return replace(binding, group=state.group), state
