"""The part of a host's settings that says what is never touched."""

from collections.abc import Iterator, Sequence
from typing import Annotated, TypeVar

import msgspec
from msgspec import UNSET, Meta, UnsetType

from pcietune.host.profiles.schema_words import ClassCode, Schema, given
from pcietune.host.yaml.nodes import Complaint
from pcietune.host.yaml.schema import Document
from pcietune.model.protection import Protect, Selector

T = TypeVar("T", bound=msgspec.Struct)

_KEY = "protect"
_FUNCTION = r"[01][0-9a-f]\.[0-7]"
_ADDRESS = rf"([0-9a-f]{{4,8}}:)?[0-9a-f]{{2}}:{_FUNCTION}"

Address = Annotated[
    str,
    Meta(
        pattern=rf"^{_ADDRESS}\Z",
        title="an address",
        description='write it as lspci -D does: "0000:3b:00.0"',
    ),
]
Location = Annotated[
    str,
    Meta(
        pattern=rf"^[0-9a-f]{{4,8}}:[0-9a-f]{{2}}:{_FUNCTION}(/{_FUNCTION})*\Z",
        title="a location",
        description='write it as pcietune topo --json does: "0000:20:01.0/00.0"',
    ),
]
SlotName = Annotated[
    str,
    Meta(
        pattern=r"^[^/\s]+\Z",
        title="a slot's name",
        description="they are listed in /sys/bus/pci/slots",
    ),
]
InterfaceName = Annotated[
    str,
    Meta(
        pattern=r"^[^/:\s]{1,15}\Z",
        title="an interface's name",
        description="ip link lists them",
    ),
]
MacAddress = Annotated[
    str,
    Meta(
        pattern=r"^[0-9a-f]{2}(:[0-9a-f]{2}){5}\Z",
        title="a MAC address",
        description='write it as ip link does: "02:00:5e:10:00:01"',
    ),
]
Reason = Annotated[
    str, Meta(pattern=r"\S", title="a reason", description="say why it is protected")
]


_SELECTORS = tuple(Selector)
_ONE_SELECTOR = {"allOf": [{"oneOf": [{"required": [each.value]} for each in _SELECTORS]}]}


class ProtectSchema(Schema):
    """Functions that are never touched, selected in one way."""

    location: Location | UnsetType = UNSET
    address: Address | UnsetType = UNSET
    slot: SlotName | UnsetType = UNSET
    netdev: InterfaceName | UnsetType = UNSET
    mac: MacAddress | UnsetType = UNSET
    class_: ClassCode | UnsetType = msgspec.field(default=UNSET, name="class")
    reason: Reason | UnsetType = UNSET

    def selectors(self) -> dict[Selector, str]:
        """Return all that the entry selects by, of which it must have one."""
        return given(
            {
                Selector.LOCATION: self.location,
                Selector.ADDRESS: self.address,
                Selector.SLOT: self.slot,
                Selector.NETDEV: self.netdev,
                Selector.MAC: self.mac,
                Selector.CLASS: self.class_,
            }
        )


Protected = Annotated[ProtectSchema, Meta(extra_json_schema=_ONE_SELECTOR)]


def protect_complaints(
    document: Document[T], entries: Sequence[ProtectSchema]
) -> Iterator[Complaint]:
    """Yield what is wrong with the entries below the document's key ``protect``."""
    known: set[tuple[Selector, str]] = set()
    for index, entry in enumerate(entries):
        found = list(entry.selectors().items())
        if len(found) != 1:
            said = f"an entry has one of {', '.join(_SELECTORS)}, but this has "
            said += " and ".join(selector for selector, _ in found) or "none"
            yield document.complain((_KEY, index), said)
        elif found[0] in known:
            selector, name = found[0]
            yield document.complain((_KEY, index), f"repeats an earlier entry of {selector} {name}")
        known.update(found)


def protects(entries: Sequence[ProtectSchema]) -> tuple[Protect, ...]:
    """Return the wishes of entries without complaints."""
    return tuple(
        Protect(selector, name, entry.reason or None)
        for entry in entries
        for selector, name in entry.selectors().items()
    )
