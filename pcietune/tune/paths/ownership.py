"""What tells functions apart that must not reach each other: their VM, or their IOMMU group."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from pcietune.address import PciAddress
from pcietune.model.not_known import NotKnown
from pcietune.model.packet import AddressSpace
from pcietune.tune.paths.sender import Sender


class Claim(StrEnum):
    """Why two functions are taken to be apart."""

    VMS = "different VMs"
    GROUPS = "different IOMMU groups"
    NOT_KNOWN = "groups not known"  # so that they may go to different VMs


@dataclass(frozen=True, slots=True)
class Owner:
    """Whom a function belongs to.

    Attributes:
        vm: The process that has it open by VFIO; None if none has, or that is not known.
        group: Number of its IOMMU group; None if it has none, NOT_KNOWN of a dump.
    """

    vm: str | None
    group: int | NotKnown | None

    def apart_from(self, other: "Owner") -> Claim | None:
        """Return why the two are taken to be apart; None if they go together.

        What shares a group goes to one VM, whatever the ports do.
        """
        if self.vm is not None and other.vm is not None:
            return None if self.vm == other.vm else Claim.VMS
        if isinstance(self.group, int) and isinstance(other.group, int):
            return None if self.group == other.group else Claim.GROUPS
        return Claim.NOT_KNOWN


def strongest_claim(ones: Iterable[Owner], others: Iterable[Owner]) -> Claim | None:
    """Return the most that any of the ones and any of the others are taken to be apart by."""
    first, second = set(ones), set(others)
    in_vms = [{owner for owner in owners if owner.vm is not None} for owners in (first, second)]
    if len({owner.vm for owner in (*in_vms[0], *in_vms[1])}) > 1 and all(in_vms):
        return Claim.VMS
    found = {one.apart_from(other) for one in first for other in second}
    return next((claim for claim in (Claim.GROUPS, Claim.NOT_KNOWN) if claim in found), None)


def different_owners(one: Sender, other: Sender, users: Mapping[PciAddress, str]) -> str | None:
    """Return whose two functions are, if not one VM's or both the host's, in half a sentence.

    None if they go together, or if that is not known.

    Args:
        one: The first.
        other: The second.
        users: Who has functions open by VFIO, as far as that is known.
    """
    whose = [_owner(each, users) for each in (one, other)]
    open_by = [users.get(each.function.address) for each in (one, other)]
    vms = [each.address is AddressSpace.GUEST for each in (one, other)]
    if None in whose or (vms[0] == vms[1] and (None in open_by or open_by[0] == open_by[1])):
        return None
    first, second = (
        f"{each.function.address} to {owner}"
        for each, owner in zip((one, other), whose, strict=True)
    )
    return f"the two belong to different owners: {first}, and {second}"


def _owner(sender: Sender, users: Mapping[PciAddress, str]) -> str | None:
    if sender.address is AddressSpace.UNKNOWN:
        return None
    guest = sender.address is AddressSpace.GUEST
    return users.get(sender.function.address, "a VM" if guest else "the host")
