"""A root bus or port of a VM before it has a name and numbers."""

from collections.abc import Iterator
from dataclasses import dataclass

from pcietune.guest.chosen import Chosen
from pcietune.guest.kinds import BridgeKind


@dataclass(frozen=True, slots=True)
class Place:
    """A bridge and all that is below it.

    Attributes:
        kind: What it is.
        below: The bridges on the bus below it, in order.
        functions: The functions on that bus, in the order of their Function Numbers.
        speed: As QEMU's ``x-speed`` takes it; None: QEMU's own.
        width: In lanes; None: QEMU's own.
        cell: The VM's NUMA node that an expander is near to; None if it is not known.
        stands_for: Location of the host's upstream port that a switch stands for.
        link: Of a topmost switch, the host's link above it: speed as sysfs has it, and lanes.
    """

    kind: BridgeKind
    below: tuple["Place", ...] = ()
    functions: tuple[Chosen, ...] = ()
    speed: str | None = None
    width: int | None = None
    cell: int | None = None
    stands_for: str | None = None
    link: tuple[str | None, int | None] = (None, None)

    @property
    def buses(self) -> int:
        """How many bus numbers it takes: one for each bridge (QEMU's docs/pcie.txt)."""
        return 1 + sum(place.buses for place in self.below)

    def all_functions(self) -> Iterator[Chosen]:
        """Yield the functions in the order of their addresses: depth first."""
        yield from self.functions
        for place in self.below:
            yield from place.all_functions()
