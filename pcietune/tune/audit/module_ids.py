"""What an id of vfio-pci's parameter ``ids=`` fits, and which functions are one's own business."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from pcietune.address import PciAddress
from pcietune.model.fabric import Fabric
from pcietune.model.function import PciFunction
from pcietune.model.owners import Owner

_ANY = 0xFFFFFFFF  # PCI_ANY_ID
_DEFAULTS = (_ANY, _ANY, _ANY, _ANY, 0, 0)
_MOST_NAMED = 4


@dataclass(frozen=True, slots=True)
class Taken:
    """What an owner takes by id.

    Attributes:
        ours: Functions of the profile.
        others: Functions that are none of it, nor on a card of it.
    """

    ours: tuple[PciFunction, ...]
    others: tuple[PciFunction, ...]


def taken(fabric: Fabric, concerned: Collection[PciAddress], owners: Iterable[Owner]) -> Taken:
    """Return which functions of a host these owners take by id; bridges vfio-pci never takes."""
    ids = [entry for owner in owners for entry in owner.ids]
    slots = {fabric.functions[address].slot for address in concerned}
    fitting = [
        function
        for function in fabric.functions.values()
        if not function.is_pci_bridge and any(fits(entry, function) for entry in ids)
    ]
    return Taken(
        tuple(function for function in fitting if function.address in concerned),
        tuple(function for function in fitting if function.slot not in slots),
    )


def fits(entry: str, function: PciFunction) -> bool:
    """Return whether an entry of ``ids=`` means a function; one that is no entry means none.

    It is vendor, device, subvendor, subdevice, class and class mask in hex, of which the first two
    are needed (drivers/vfio/pci/vfio_pci.c, vfio_pci_fill_ids).
    """
    fields = entry.split(":")
    if not 2 <= len(fields) <= len(_DEFAULTS):
        return False
    try:
        numbers = [int(text, 16) for text in fields]
    except ValueError:
        return False
    *ids, class_code, class_mask = [*numbers, *_DEFAULTS[len(numbers) :]]
    has = (
        function.vendor,
        function.device,
        function.subsystem_vendor,
        function.subsystem_device,
    )
    return (
        all(wanted in (_ANY, number) for wanted, number in zip(ids, has, strict=True))
        and (function.class_code ^ class_code) & class_mask == 0
    )


def some(functions: Sequence[PciFunction]) -> str:
    """Return the addresses of the first functions, and how many more there are."""
    named = ", ".join(str(function.address) for function in functions[:_MOST_NAMED])
    more = len(functions) - _MOST_NAMED
    return f"{named} and {more} more" if more > 0 else named
