"""What is handed to VFIO, as profiles and settings write it."""

from typing import Annotated

import msgspec
from msgspec import Meta

from pcietune.model.role_name import RoleName
from pcietune.model.vfio import FabricPlan, VfioPolicy

AT_BOOT = "boot"
_AFTER = "after:"

When = Annotated[
    str,
    Meta(
        pattern=r"^(boot|after:[A-Za-z0-9:_.\\@-]+\.(service|target|path|socket|mount))\Z",
        title="when to bind",
        description="boot, or after:UNIT as systemd names it: after:nvidia-fabricmanager.service",
    ),
]


class VfioSchema(msgspec.Struct, forbid_unknown_fields=True, frozen=True, rename="kebab"):
    """What VFIO gets once it is as the profile wants it."""

    bind: Annotated[
        tuple[RoleName, ...], Meta(description="roles whose functions VFIO gets; none by default")
    ] = ()
    fabric: Annotated[
        FabricPlan,
        Meta(
            description="who runs the NVSwitches. none: there are none, or nobody touches them;"
            " host-fm: Fabric Manager on the host, with the nvidia driver; service-vm: a VM of"
            " its own; in-guest: one VM has all GPUs and NVSwitches"
        ),
    ] = FabricPlan.NONE
    when: When = AT_BOOT

    def policy(self) -> VfioPolicy:
        """Return what is meant."""
        after = None if self.when == AT_BOOT else self.when.removeprefix(_AFTER)
        return VfioPolicy(self.bind, self.fabric, after)
