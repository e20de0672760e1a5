"""What all parts of the profile format share: its Structs' settings, and kinds of values."""

from collections.abc import Mapping
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta, UnsetType

from pcietune.host.platform import DMI_FIELDS
from pcietune.model.profile import AcsWant
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
ParentName = Annotated[
    str,
    Meta(
        pattern=r"^[^/\n]+\Z",
        title="a profile's name",
        description="write it as pcietune profile list does; its keys hold where this has none",
    ),
]
Acs = Annotated[str, Meta(extra_json_schema={"enum": list(ACS_WANTS)})]
DmiName = Annotated[str, Meta(extra_json_schema={"enum": list(DMI_FIELDS)})]
Count = Annotated[int, Meta(ge=0)]
CountFromOne = Annotated[int, Meta(ge=1)]
Counts = Count | Annotated[tuple[Count, ...], Meta(min_length=1)]
CountsFromOne = CountFromOne | Annotated[tuple[CountFromOne, ...], Meta(min_length=1)]

K = TypeVar("K")
V = TypeVar("V")


def given(members: Mapping[K, V | UnsetType]) -> dict[K, V]:
    """Return what a document has, of what it may have."""
    return {key: value for key, value in members.items() if not isinstance(value, UnsetType)}


class Schema(msgspec.Struct, forbid_unknown_fields=True, rename="kebab"):
    """What all parts of the format have in common."""
