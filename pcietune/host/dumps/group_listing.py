"""Reads a listing of IOMMU groups, in the forms in which people make one."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from pcietune.address import PciAddress
from pcietune.host.dumps.text_lines import Line, Place

_ADDRESS = r"((?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[01][0-9a-f]\.[0-7])\b"
# find /sys/kernel/iommu_groups -type l
_LINK = re.compile(rf"\S*\biommu_groups/([0-9]{{1,9}})/devices/{_ADDRESS}.*")
# grep . /sys/kernel/iommu_groups/*/type
_TYPE = re.compile(r"\S*\biommu_groups/([0-9]{1,9})/type:\s*([\w-]+)")
# IOMMU Group 12 01:00.0 ..., and with the functions in lines of their own
_GROUP = re.compile(r"(?:iommu )?group:?\s*([0-9]{1,9})\b[\s:-]*(.*)", re.IGNORECASE)
_MEMBER = re.compile(rf"\s*(?:\[\w*\]|[-*])?\s*{_ADDRESS}.*")
_NUMBERED = re.compile(rf"([0-9]{{1,9}})[\s:]+{_ADDRESS}")
_COMMENT = "#"
_HINT = "list them so: find /sys/kernel/iommu_groups -type l"


@dataclass(slots=True)
class GroupListing:
    """IOMMU groups as a listing has them.

    Attributes:
        groups: Number of the group of each function.
        places: Where each function is told.
        types: Of the groups' default domains, where told.
    """

    groups: dict[PciAddress, int] = field(default_factory=dict)
    places: dict[PciAddress, Place] = field(default_factory=dict)
    types: dict[int, str] = field(default_factory=dict)

    def add(self, number: int, text: str, place: Place) -> None:
        """Take a member.

        Raises:
            BadInputError: It is in another group already.
        """
        address = PciAddress.parse(text)
        if self.groups.setdefault(address, number) != number:
            before = self.places[address]
            raise place.refused(
                f"{address} is in group {number} here, and in group {self.groups[address]} in "
                f"{before.source}:{before.line}",
                hint="the listings are of different boots or hosts: name one",
            )
        self.places.setdefault(address, place)


def is_group_listing(line: str) -> bool:
    """Return whether a line can be one of a listing's that names a group."""
    return any(form.fullmatch(line) for form in (_LINK, _TYPE, _GROUP, _NUMBERED))


def begins_in_group_listing(line: str) -> bool:
    """Return whether a line of a listing can be none that goes on the one before it."""
    return line.startswith(_COMMENT) or is_group_listing(line) or bool(_MEMBER.fullmatch(line))


def read_group_listing(lines: Iterable[Line], source: str, listing: GroupListing) -> None:
    """Add what a listing called ``source`` tells to ``listing``.

    Raises:
        BadInputError: A line is of no known form, or contradicts another.
    """
    heading: int | None = None
    for number, line in lines:
        place = Place(source, number)
        if not line or line.startswith(_COMMENT):
            continue
        if found := _TYPE.fullmatch(line):
            listing.types[int(found[1])] = found[2]
        elif found := _LINK.fullmatch(line) or _NUMBERED.fullmatch(line):
            listing.add(int(found[1]), found[2], place)
        elif found := _GROUP.fullmatch(line):
            heading = int(found[1])
            if found[2]:
                _add_member(listing, heading, found[2], place)
        else:
            _add_member(listing, heading, line, place)


def _add_member(listing: GroupListing, group: int | None, text: str, place: Place) -> None:
    member = _MEMBER.fullmatch(text)
    if member is None or group is None:
        raise place.refused(f"{text[:60]!r} is no line of a listing of IOMMU groups", hint=_HINT)
    listing.add(group, member[1], place)
