"""What is handed to VFIO, as profiles and settings write it."""

from collections.abc import Iterator
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta

from pcietune.host.yaml.nodes import Complaint
from pcietune.host.yaml.schema import Document, Path
from pcietune.model.role_name import RoleName
from pcietune.model.vfio import FabricPlan, VfioPolicy

AT_BOOT = "boot"
T = TypeVar("T", bound=msgspec.Struct)
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


def vfio_complaints(document: Document[T], path: Path, schema: VfioSchema) -> Iterator[Complaint]:
    """Yield what contradicts in what is handed to VFIO, below the document's keys ``path``."""
    policy = schema.policy()
    for index, role in enumerate(schema.bind):
        at = (*path, "bind", index)
        if role is RoleName.DPU:
            yield document.complain(at, "a DPU is another host's way in: it is never bound")
        elif not policy.binds(role):
            said = f"'fabric: {schema.fabric}' leaves NVSwitches alone: service-vm or in-guest"
            yield document.complain(at, f"{said} binds them")
        if role in schema.bind[:index]:
            yield document.complain(at, f"repeats {role}")
