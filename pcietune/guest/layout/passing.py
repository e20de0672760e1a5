"""A chosen function as the plan has it."""

from dataclasses import dataclass

from pcietune.address import PciAddress
from pcietune.guest.chosen import Chosen
from pcietune.guest.devices import Passed
from pcietune.guest.layout.links import most_of


@dataclass(frozen=True, slots=True)
class Seat:
    """Where a function is in the VM.

    Attributes:
        parent: Name of the bridge that it is below.
        address: As predicted.
        cell: NUMA node that it is near to; None if not known.
    """

    parent: str
    address: PciAddress
    cell: int | None


def passed(chosen: Chosen, name: str, seat: Seat, clique: int | None) -> Passed:
    """Return a function at its seat; ``name`` is QEMU's id of it."""
    function, state = chosen.function, chosen.state
    speed, width = most_of(chosen.link, chosen.port_link)
    memory = [bar for bar in chosen.bars or () if bar.is_memory]
    physical = state.physical_function
    return Passed(
        name=name,
        kind=chosen.kind,
        address=str(function.address),
        path=function.location,
        id=function.id,
        class_code=f"0x{function.class_code:06x}",
        physical_function=None if physical is None else str(physical),
        iommu_group=state.group if isinstance(state.group, int) else None,
        numa_node=None if state.numa_node == -1 else state.numa_node,
        switch=chosen.switches[0].location if chosen.switches else None,
        link_speed=speed,
        link_width=width,
        bars_64=[bar.size for bar in memory if bar.is_large_memory],
        bars_32=[bar.size for bar in memory if not bar.is_large_memory],
        ats=chosen.ats,
        parent=seat.parent,
        function=seat.address.function,
        guest_address=str(seat.address),
        cell=seat.cell,
        clique=clique,
    )
