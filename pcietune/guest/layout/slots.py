"""Functions that stay together: those of one slot, and the slots below one switch."""

from collections.abc import Iterable
from dataclasses import dataclass

from pcietune.guest.chosen import Chosen
from pcietune.model.function import PciFunction
from pcietune.model.location import location_order


@dataclass(frozen=True, slots=True)
class Slot:
    """Functions that share a slot in the VM, as they do on the host.

    Attributes:
        functions: In the order of their Function Numbers in the VM; there is a first.
    """

    functions: tuple[Chosen, ...]

    @property
    def first(self) -> Chosen:
        """What is Function 0."""
        return self.functions[0]

    @property
    def switches(self) -> tuple[PciFunction, ...]:
        """Upstream ports of the host's switches above it, topmost first."""
        return self.first.switches

    @property
    def order(self) -> tuple[int, str]:
        """What sorts slots as the host has them."""
        return location_order(self.first.function.location)


def slots_of(chosen: Iterable[Chosen]) -> list[Slot]:
    """Return the slots of what was chosen, as the host has them in order.

    A companion shares the slot of its function if it does so on the host, else has its own.
    """
    slots = []
    for each in chosen:
        places: dict[tuple[int, int, int], list[Chosen]] = {each.function.slot: [each]}
        for companion in each.companions:
            places.setdefault(companion.function.slot, []).append(companion)
        slots += [Slot(tuple(functions)) for functions in places.values()]
    return sorted(slots, key=lambda slot: slot.order)


def units_of(slots: Iterable[Slot]) -> list[list[Slot]]:
    """Return the slots that are below one topmost switch, or one slot that is below none."""
    units: dict[str, list[Slot]] = {}
    for slot in slots:
        top = slot.switches[0] if slot.switches else slot.first.function
        units.setdefault(top.location, []).append(slot)
    return list(units.values())
