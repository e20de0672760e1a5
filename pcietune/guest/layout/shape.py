"""Which root buses, ports and switches a VM has, as the host's stand."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from pcietune.guest.chosen import Chosen
from pcietune.guest.kinds import BridgeKind
from pcietune.guest.layout.links import most_of, port_properties, running
from pcietune.guest.layout.place import Place
from pcietune.guest.layout.slots import Slot, slots_of, units_of
from pcietune.guest.plan import Cell
from pcietune.guest.wish import Expanders, Layout, Wish


def shape_of(chosen: Iterable[Chosen], cells: Iterable[Cell], wish: Wish) -> tuple[Place, ...]:
    """Return the VM's expanders with all that is below them: those near to cell 0 first.

    Functions whose cell is not known are below an expander without a NUMA node, behind the others:
    its bus numbers begin where the plan says, whatever else stands on ``pcie.0``.
    """
    of_node = {cell.host_node: cell.cell for cell in cells if cell.host_node is not None}
    ports: dict[tuple[bool, int, str], list[Place]] = {}
    for unit in units_of(slots_of(chosen)):
        cell = _cell(unit, of_node)
        group = wish.expanders is Expanders.GROUP and unit[0].switches
        key = (cell is None, cell or 0, unit[0].switches[0].location if group else "")
        ports.setdefault(key, []).extend(_root_ports(unit, wish.layout))
    return tuple(
        Place(BridgeKind.EXPANDER, below=tuple(ports[key]), cell=None if key[0] else key[1])
        for key in sorted(ports)
    )


def _cell(unit: Sequence[Slot], of_node: Mapping[int, int]) -> int | None:
    """Return the cell near to what is below one switch: the first that is known."""
    nodes = (slot.first.state.numa_node for slot in unit)
    return next((of_node[node] for node in nodes if node is not None and node in of_node), None)


def _root_ports(unit: Sequence[Slot], layout: Layout) -> list[Place]:
    if layout is Layout.PORTS or not unit[0].switches:
        return [_own_root_port(slot) for slot in unit]
    links = (slot.first.root_link for slot in unit)
    link = running(next((link for link in links if link), None))
    speed, width = port_properties(*link)
    switch = replace(_switch(unit, 0), link=link)
    return [Place(BridgeKind.ROOT_PORT, below=(switch,), speed=speed, width=width)]


def _own_root_port(slot: Slot) -> Place:
    speed, width = port_properties(*most_of(slot.first.link, slot.first.port_link))
    return Place(BridgeKind.ROOT_PORT, functions=slot.functions, speed=speed, width=width)


def _switch(slots: Sequence[Slot], depth: int) -> Place:
    """Return what stands for the switch at ``depth`` above the slots, and those below it.

    One below which all slots are that are below the switch above it tells nothing apart: both are
    one in the VM. To NCCL functions of one switch are PIX, of several PXB, as on the host
    (its src/graph/paths.cc: PXB begins where a way goes from one switch to another).
    """
    stands_for = slots[0].switches[depth].location
    while len({_next(slot, depth) for slot in slots}) == 1 and len(slots[0].switches) > depth + 1:
        depth += 1
    parts: dict[str, list[Slot]] = {}
    for slot in slots:
        parts.setdefault(_next(slot, depth), []).append(slot)
    ports = tuple(
        Place(BridgeKind.DOWNSTREAM_PORT, below=(_switch(part, depth + 1),))
        if len(part[0].switches) > depth + 1
        else Place(BridgeKind.DOWNSTREAM_PORT, functions=part[0].functions)
        for part in parts.values()
    )
    return Place(BridgeKind.UPSTREAM_PORT, below=ports, stands_for=stands_for)


def _next(slot: Slot, depth: int) -> str:
    """Return the location of the switch below the one at ``depth``, or of the function itself."""
    below = slot.switches[depth + 1 :]
    return below[0].location if below else slot.first.function.location
