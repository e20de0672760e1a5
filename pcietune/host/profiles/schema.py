"""The profile format as msgspec Structs: its one description, which the reader walks."""

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from pcietune.host.profiles.mode_schema import ModesSchema
from pcietune.host.profiles.schema_words import (
    ClassCode,
    Counts,
    CountsFromOne,
    DmiName,
    Id,
    ParentName,
    Schema,
    given,
)
from pcietune.model.profile import Attach, RolePlace
from pcietune.model.role_name import RoleName
from pcietune.model.severity import Severity


class MatchSchema(Schema):
    """How a host is recognised: all that is given must hold, and one of them must be given."""

    ids: Annotated[
        tuple[Id, ...], Meta(description="a function with one of these ids is present")
    ] = ()
    classes: Annotated[tuple[ClassCode, ...], Meta(description="and has one of these classes")] = ()
    place: Annotated[
        Literal["switch-group"] | UnsetType,
        Meta(description="switch-group: some switch carries a GPU and a NIC, by the roles here"),
    ] = UNSET
    dmi: Annotated[
        dict[DmiName, str],
        Meta(description="names below /sys/class/dmi/id, each with a shell pattern"),
    ] = msgspec.field(default_factory=dict)


class RoleSchema(Schema):
    """Which functions have a role: by ids or classes, or by both at once."""

    ids: Annotated[tuple[Id, ...], Meta(description="functions with one of these ids")] = ()
    classes: Annotated[
        tuple[ClassCode, ...], Meta(description="and with one of these classes")
    ] = ()
    place: Annotated[
        RolePlace,
        Meta(description="gpu-switch: only below a topmost switch that also carries a GPU"),
    ] = RolePlace.ANY
    trusted: Annotated[
        bool, Meta(description="true: may be believed when it sends translated addresses")
    ] = False
    attach: Annotated[Attach, Meta(description="what of it is handed to a VM")] = Attach.PF


_IDS_OR_CLASSES = {"allOf": [{"anyOf": [{"required": ["ids"]}, {"required": ["classes"]}]}]}


class RolesSchema(Schema):
    """The roles of a host's functions."""

    gpu: Annotated[RoleSchema, Meta(description="the GPUs", extra_json_schema=_IDS_OR_CLASSES)]
    nic: Annotated[
        RoleSchema,
        Meta(description="the NICs that talk to the GPUs", extra_json_schema=_IDS_OR_CLASSES),
    ]
    nvswitch: Annotated[
        RoleSchema | UnsetType,
        Meta(description="the NVSwitches", extra_json_schema=_IDS_OR_CLASSES),
    ] = UNSET
    dpu: Annotated[
        RoleSchema | UnsetType,
        Meta(description="what pcietune never touches", extra_json_schema=_IDS_OR_CLASSES),
    ] = UNSET

    def given(self) -> dict[RoleName, RoleSchema]:
        """Return the roles that the profile has."""
        return given(
            {
                RoleName.GPU: self.gpu,
                RoleName.NIC: self.nic,
                RoleName.NVSWITCH: self.nvswitch,
                RoleName.DPU: self.dpu,
            }
        )


class CountsSchema(Schema):
    """How many cards have functions of each role; a role that is left out is not counted."""

    gpu: Annotated[Counts | UnsetType, Meta(description="how many GPUs")] = UNSET
    nic: Annotated[
        Counts | UnsetType, Meta(description="how many NIC cards, however many ports each has")
    ] = UNSET
    nvswitch: Annotated[Counts | UnsetType, Meta(description="how many NVSwitches")] = UNSET
    dpu: Annotated[Counts | UnsetType, Meta(description="how many DPUs")] = UNSET

    def given(self) -> dict[RoleName, tuple[int, ...]]:
        """Return the counts that the profile has."""
        counts: dict[RoleName, int | tuple[int, ...]] = given(
            {
                RoleName.GPU: self.gpu,
                RoleName.NIC: self.nic,
                RoleName.NVSWITCH: self.nvswitch,
                RoleName.DPU: self.dpu,
            }
        )
        return {role: one_or_more(count) for role, count in counts.items()}


class SwitchGroupsSchema(CountsSchema, kw_only=True):
    """How many switch groups a host has, and how many cards are in each."""

    count: Annotated[CountsFromOne, Meta(description="how many switch groups")]


class LayoutSchema(CountsSchema):
    """What the whole host has; a number, or a list of all that will do."""

    switch_groups: Annotated[
        SwitchGroupsSchema | UnsetType,
        Meta(description="the switches that carry GPUs and NICs, and what is below each"),
    ] = UNSET
    nic_ports: Annotated[
        CountsFromOne | UnsetType,
        Meta(description="how many network functions each NIC card may have"),
    ] = UNSET
    numa_nodes: Annotated[
        CountsFromOne | UnsetType,
        Meta(description="over how many NUMA nodes the GPUs and NICs may be spread"),
    ] = UNSET


class ProfileSchema(Schema):
    """A profile: how to recognise a kind of host, its roles, what each mode wants of it."""

    version: Annotated[Literal[1], Meta(description="of this format")]
    summary: Annotated[
        str,
        Meta(
            pattern=r"^[^\n]*\S[^\n]*\Z", title="one line", description="say what hosts these are"
        ),
    ]
    match: Annotated[
        MatchSchema,
        Meta(description="how such a host is recognised", extra_json_schema={"minProperties": 1}),
    ]
    roles: Annotated[RolesSchema, Meta(description="which functions are what")]
    modes: Annotated[
        ModesSchema,
        Meta(description="what each duty wants", extra_json_schema={"minProperties": 1}),
    ]
    extends: ParentName | UnsetType = UNSET
    generic: Annotated[
        bool, Meta(description="true: counts only where no other profile matches")
    ] = False
    layout: Annotated[
        LayoutSchema, Meta(description="what there should be; judged, never a reason not to match")
    ] = msgspec.field(default_factory=LayoutSchema)
    severity: Annotated[
        dict[str, Severity],
        Meta(description="what a failing finding counts for on these hosts, by its id"),
    ] = msgspec.field(default_factory=dict)


def one_or_more(count: int | tuple[int, ...] | UnsetType) -> tuple[int, ...]:
    """Return the numbers that will do; none if the profile leaves it open."""
    if isinstance(count, UnsetType):
        return ()
    return (count,) if isinstance(count, int) else count
