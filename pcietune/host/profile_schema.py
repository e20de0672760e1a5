"""The profile format as msgspec Structs: its one description, which the reader walks."""

from collections.abc import Mapping
from typing import Annotated, Literal, TypeVar

import msgspec
from msgspec import UNSET, Meta, UnsetType

from pcietune.host.platform import DMI_FIELDS
from pcietune.model.profile import (
    AcsWant,
    AtsPolicy,
    Attach,
    GroupPolicy,
    IommuPolicy,
    ModeName,
    Place,
    RoleName,
    RolePlace,
)
from pcietune.registers.acs import LSPCI_NAMES

ACS_WANTS = {
    str(want): want
    for control in LSPCI_NAMES
    for want in (AcsWant(control, on=True), AcsWant(control, on=False))
}
"""Each ACS control on and off, by what lspci prints for it: ``DirectTrans+``."""

Id = Annotated[
    str,
    Meta(
        pattern=r"^[0-9a-f]{4}:([0-9a-f]{4}|\*)\Z",
        title="a vendor and device ID",
        description='write it as lspci -n does, with * for any device: "10de:20f3", "15b3:*"',
    ),
]
ClassCode = Annotated[
    str,
    Meta(
        pattern=r"^[0-9a-f]{4}\Z",
        title="a base class and sub-class",
        description='write it as lspci -n does: "0302"',
    ),
]
Acs = Annotated[str, Meta(extra_json_schema={"enum": list(ACS_WANTS)})]
DmiName = Annotated[str, Meta(extra_json_schema={"enum": list(DMI_FIELDS)})]
Count = Annotated[int, Meta(ge=0)]


_K = TypeVar("_K")
_V = TypeVar("_V")


def _given(members: Mapping[_K, _V | UnsetType]) -> dict[_K, _V]:
    return {key: value for key, value in members.items() if not isinstance(value, UnsetType)}


class _Schema(msgspec.Struct, forbid_unknown_fields=True, rename="kebab"):
    """What all parts of the format have in common."""


class MatchSchema(_Schema):
    """How a host is recognised: all that is given must hold, and one of them must be given."""

    ids: tuple[Id, ...] = ()
    classes: tuple[ClassCode, ...] = ()
    place: Literal["switch-group"] | UnsetType = UNSET
    dmi: dict[DmiName, str] = {}


class RoleSchema(_Schema):
    """Which functions have a role: by ids or classes, or by both at once."""

    ids: tuple[Id, ...] = ()
    classes: tuple[ClassCode, ...] = ()
    place: RolePlace = RolePlace.ANY
    trusted: bool = False
    attach: Attach = Attach.PF


class RolesSchema(_Schema):
    """The roles of a host's functions."""

    gpu: RoleSchema
    nic: RoleSchema
    nvswitch: RoleSchema | UnsetType = UNSET
    dpu: RoleSchema | UnsetType = UNSET

    def given(self) -> dict[RoleName, RoleSchema]:
        """Return the roles that the profile has."""
        return _given(
            {
                RoleName.GPU: self.gpu,
                RoleName.NIC: self.nic,
                RoleName.NVSWITCH: self.nvswitch,
                RoleName.DPU: self.dpu,
            }
        )


class CountsSchema(_Schema):
    """How many functions have each role; a role that is left out is not counted."""

    gpu: Count | UnsetType = UNSET
    nic: Count | UnsetType = UNSET
    nvswitch: Count | UnsetType = UNSET
    dpu: Count | UnsetType = UNSET

    def given(self) -> dict[RoleName, int]:
        """Return the counts that the profile has."""
        return _given(
            {
                RoleName.GPU: self.gpu,
                RoleName.NIC: self.nic,
                RoleName.NVSWITCH: self.nvswitch,
                RoleName.DPU: self.dpu,
            }
        )


class SwitchGroupsSchema(CountsSchema, kw_only=True):
    """How many switch groups a host has, and what is in each."""

    count: Annotated[int, Meta(ge=1)]


class LayoutSchema(CountsSchema):
    """What the whole host has."""

    switch_groups: SwitchGroupsSchema | UnsetType = UNSET


class PortRuleSchema(_Schema):
    """What ports of one place owe: ``set`` may be written, ``require`` is only judged."""

    set: tuple[Acs, ...] = ()
    require: tuple[Acs, ...] = ()


class PortsSchema(_Schema):
    """What ports owe, by their place between a switch group's NICs and GPUs."""

    nic_side: PortRuleSchema | UnsetType = UNSET
    gpu_side: PortRuleSchema | UnsetType = UNSET
    upstream: PortRuleSchema | UnsetType = UNSET

    def given(self) -> dict[Place, PortRuleSchema]:
        """Return the rules that the mode has."""
        return _given(
            {
                Place.NIC_SIDE: self.nic_side,
                Place.GPU_SIDE: self.gpu_side,
                Place.UPSTREAM: self.upstream,
            }
        )


class ModeSchema(_Schema):
    """What is wanted of a host in one mode."""

    ports: PortsSchema
    ats: AtsPolicy = AtsPolicy.IGNORE
    iommu: IommuPolicy = IommuPolicy.IGNORE
    groups: GroupPolicy = GroupPolicy.IGNORE


class ModesSchema(_Schema):
    """The modes that hosts of this kind can be in."""

    vm: ModeSchema | UnsetType = UNSET
    baremetal: ModeSchema | UnsetType = UNSET

    def given(self) -> dict[ModeName, ModeSchema]:
        """Return the modes that the profile has."""
        return _given({ModeName.VM: self.vm, ModeName.BAREMETAL: self.baremetal})


class ProfileSchema(_Schema):
    """A profile: how to recognise a kind of host, its roles, what each mode wants of it."""

    version: Literal[1]
    summary: Annotated[
        str,
        Meta(
            pattern=r"^[^\n]*\S[^\n]*\Z", title="one line", description="say what hosts these are"
        ),
    ]
    match: MatchSchema
    roles: RolesSchema
    modes: ModesSchema
    generic: bool = False
    layout: LayoutSchema = msgspec.field(default_factory=LayoutSchema)
