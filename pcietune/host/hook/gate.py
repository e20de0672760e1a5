"""What keeps a hook from giving a function to VFIO, as far as a hook can see.

It binds only what is a matter of one slot. All else is left to who judges the whole host: apply,
watch, ``pcietune vfio bind``.
"""

from pcietune.address import PciAddress
from pcietune.errors import ConfigSpaceError, InUseError
from pcietune.host.hook.place import Place, address_of, place_of
from pcietune.host.hook.ports import has_ats
from pcietune.model.policy import FunctionDuty

_GIVES_WAY = (None, "pcieport", "pci-stub")  # as of a bridge (drivers/vfio/vfio_main.c)

Slot = list[tuple[Place, FunctionDuty | None]]
"""A function and the others of its slot, each with its duty."""


def check_gate(root: str, slot: Slot) -> None:
    """Do nothing if nothing stands against giving a function to VFIO, with all of its slot.

    Args:
        root: What stands for the host's ``/``.
        slot: The function first.

    Raises:
        InUseError: Something does.
        PcietuneError: That cannot be found out.
    """
    own = slot[0][0].address
    for place, duty in slot:
        if duty is None or duty.override is None:
            raise InUseError(f"{place.address} shares its slot, and is not named for VFIO")
        if duty.held_by:
            raise InUseError(f"{place.address}: {', '.join(duty.held_by)} failed when apply looked")
        if place.address != own and not place.given_to_vfio and place.driver() is not None:
            raise InUseError(f"{place.address} shares its slot, and {place.driver()} has it")
        _check_group(root, place)
        if duty.needs_ats and not has_ats(place):
            raise InUseError(f"{place.address} has no ATS capability, as its profile wants")


def _check_group(root: str, place: Place) -> None:
    members = place.group()
    if members is None:
        raise InUseError(f"no IOMMU translates {place.address}")
    if str(place.address) not in members:
        raise ConfigSpaceError(f"the IOMMU group of {place.address} cannot be read")
    for name in members:
        address = address_of(name)
        if address is not None and address != place.address and not _gives_way(root, address):
            raise InUseError(f"the IOMMU group of {place.address} also holds {name}")


def _gives_way(root: str, address: PciAddress) -> bool:
    other = place_of(root, address)
    return other is None or (other.is_bridge and other.driver() in _GIVES_WAY)
