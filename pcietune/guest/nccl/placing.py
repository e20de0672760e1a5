"""Where in NCCL's tree a planned function belongs: below which switches, and at which CPUs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pcietune.address import PciAddress
from pcietune.guest.devices import Bridge, Passed
from pcietune.guest.kinds import BridgeKind, Kind
from pcietune.guest.nccl.bus_id import nic_bus_id
from pcietune.guest.nccl.wanted import Wanted, address_of
from pcietune.guest.plan import Plan


@dataclass(frozen=True, slots=True)
class Switch:
    """A switch of the tree.

    Attributes:
        bus_id: The emulated switch's upstream port, by which NCCL knows it; of an invented one an
            address that nothing has.
        upstream: The upstream port, or of an invented one what the plan has in its place; None if
            it has none.
    """

    bus_id: str
    upstream: Bridge | None


@dataclass(frozen=True, slots=True)
class Place:
    """A function in the tree.

    Attributes:
        function: The GPU or NIC.
        bus_id: What NCCL knows it by.
        switches: Those above it, topmost first.
        cell: The VM's NUMA node that it is near to; None if not known.
    """

    function: Passed
    bus_id: str
    switches: tuple[Switch, ...]
    cell: int | None


def places(plan: Plan, wanted: Wanted) -> list[Place]:
    """Return where the VM's GPUs and NICs belong, in the plan's order.

    Of a NIC's several functions NCCL sees one.
    """
    merge_vfs = merges_vfs(plan, wanted)
    stand_for = {each.stands_for: each for each in plan.bridges if each.stands_for is not None}
    invented: dict[str, Switch] = {}
    found: dict[str, Place] = {}
    for function in plan.functions:
        if function.kind not in {Kind.GPU, Kind.NIC}:
            continue
        switches = () if wanted.invent else _emulated(function, plan, wanted)
        if not switches and function.switch is not None:
            number = len(invented) + 1
            bus_id = f"ffff:{0xFF - number // 0x20:02x}:{number % 0x20:02x}.0"
            new = Switch(bus_id, stand_for.get(function.switch))
            switches = (invented.setdefault(function.switch, new),)
        bus_id = _bus_id(function, wanted, merge_vfs=merge_vfs)
        found.setdefault(bus_id, Place(function, bus_id, switches, _cell(function, plan)))
    return list(found.values())


def merges_vfs(plan: Plan, wanted: Wanted) -> bool:
    """Return whether NCCL may round the device digits of NICs away, as it does unless told not to.

    It must not where a NIC has another Device Number than 0: it would be taken for what is there.
    """
    return not any(
        address_of(each.name, each.guest_address, wanted.addresses).device
        for each in plan.functions
        if each.kind is Kind.NIC
    )


def cell_of(group: Sequence[Place], plan: Plan) -> int | None:
    """Return the NUMA node of functions below one switch; None if not known."""
    if len(plan.cells) == 1:
        return plan.cells[0].cell
    return next((place.cell for place in group if place.cell is not None), None)


def _bus_id(function: Passed, wanted: Wanted, *, merge_vfs: bool) -> str:
    address: PciAddress = address_of(function.name, function.guest_address, wanted.addresses)
    if function.kind is Kind.NIC:
        return nic_bus_id(address, merge_vfs=merge_vfs)
    return str(address)


def _emulated(function: Passed, plan: Plan, wanted: Wanted) -> tuple[Switch, ...]:
    """Return the emulated switches above it: NCCL's walk sees neither root nor downstream ports."""
    upstream = [each for each in _above(function, plan) if each.kind is BridgeKind.UPSTREAM_PORT]
    return tuple(
        Switch(str(address_of(each.name, each.address, wanted.addresses)), each)
        for each in reversed(upstream)
    )


def _cell(function: Passed, plan: Plan) -> int | None:
    if function.cell is not None:
        return function.cell
    cells = (each.cell for each in _above(function, plan))
    return next((cell for cell in cells if cell is not None), None)


def _above(function: Passed, plan: Plan) -> Iterable[Bridge]:
    """Yield the bridges above it, lowest first."""
    bridge = plan.bridge(function.parent)
    while bridge is not None:
        yield bridge
        bridge = plan.bridge(bridge.parent)
