"""What is handed to VFIO, when, and who has the NVSwitches."""

from dataclasses import dataclass
from enum import StrEnum

from pcietune.model.role_name import RoleName


class FabricPlan(StrEnum):
    """Who runs the NVSwitches of a board that has some."""

    NONE = "none"  # there are none, or nobody is to touch them
    HOST_FM = "host-fm"  # Fabric Manager on the host: they keep the nvidia driver
    SERVICE_VM = "service-vm"  # Fabric Manager in a VM of its own, which gets them all
    IN_GUEST = "in-guest"  # one VM gets all GPUs and all NVSwitches


@dataclass(frozen=True, slots=True)
class VfioPolicy:
    """What the gate hands to VFIO once it is as the profile wants it.

    Attributes:
        bind: Roles whose functions VFIO is to get; nothing is bound where it is empty.
        fabric: Who runs the NVSwitches; those that the host runs are never bound.
        after: The systemd unit after which functions are probed; until then they only have the
            override, which keeps other drivers off. None: at boot, before udev's cold plug.
    """

    bind: tuple[RoleName, ...] = ()
    fabric: FabricPlan = FabricPlan.NONE
    after: str | None = None

    def binds(self, role: RoleName) -> bool:
        """Return whether functions of a role are handed over."""
        return role in self.bind and self.may_bind(role)

    def may_bind(self, role: RoleName) -> bool:
        """Return whether they could be: NVSwitches only where a VM is to run them."""
        in_vm = self.fabric in (FabricPlan.SERVICE_VM, FabricPlan.IN_GUEST)
        return in_vm or role is not RoleName.NVSWITCH


NO_BINDING = VfioPolicy()
