"""All that decides about binding: a host, how it is judged, its drivers, who holds what."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pcietune.model.access import HostAccess
from pcietune.model.driver_access import DriverAccess
from pcietune.model.function import FunctionState, PciFunction
from pcietune.model.hold import Hold
from pcietune.model.vfio_drivers import VfioDrivers
from pcietune.tune.audit.audit import Audit

OVERRIDE = "driver_override"
AUTOPROBE = "sriov_drivers_autoprobe"

_UNSET = ("", "(null)")  # the latter is what the kernel prints (drivers/pci/pci-sysfs.c)

Holds = Callable[[PciFunction], Sequence[Hold]]


@dataclass(frozen=True, slots=True)
class Scene:
    """What decides.

    Attributes:
        host: The host.
        audited: How it is judged.
        drivers: Its drivers.
        vfio: Those of them that are for VFIO.
        holds: What the host's software has of a function, as far as it was looked at in this run.
        holds_now: The same, looked at anew.
    """

    host: HostAccess
    audited: Audit
    drivers: DriverAccess
    vfio: VfioDrivers
    holds: Holds
    holds_now: Holds


def override_of(host: HostAccess, function: PciFunction) -> str | None:
    """Return what a function's ``driver_override`` holds now; None if it is not set."""
    text = host.attribute_again(function, OVERRIDE)
    return None if text is None or text in _UNSET else text


def physical_function(scene: Scene, state: FunctionState) -> PciFunction | None:
    """Return a VF's PF; None of what is no VF."""
    address = state.physical_function
    return None if address is None else scene.audited.fabric.functions.get(address)
