"""What no plan of a VM can say, though each of its fields has its form.

All that makes texts of a plan relies on it: names lead somewhere, parents stand before what is
below them, and addresses are those that the numbers make.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping

from pcietune.address import PciAddress
from pcietune.guest.devices import Bridge
from pcietune.guest.kinds import BridgeKind, Kind
from pcietune.guest.plan import Cell, Plan

_ROOT = "pcie.0"
_KIB_PER_MIB = 1024
_TO_ITSELF = 10  # in ACPI's SLIT
_BELOW: Mapping[BridgeKind, tuple[BridgeKind | None, ...]] = {
    BridgeKind.EXPANDER: (None,),
    BridgeKind.ROOT_PORT: (None, BridgeKind.EXPANDER),
    BridgeKind.UPSTREAM_PORT: (BridgeKind.ROOT_PORT, BridgeKind.DOWNSTREAM_PORT),
    BridgeKind.DOWNSTREAM_PORT: (BridgeKind.UPSTREAM_PORT,),
}
"""What each kind of bridge can be below; None is ``pcie.0``."""
_PORTS = (BridgeKind.ROOT_PORT, BridgeKind.DOWNSTREAM_PORT)
"""Below these there is one slot, Device 0: for an upstream port, or functions."""


def plan_faults(plan: Plan) -> Iterator[str]:
    """Yield what is wrong with a plan, in the order of its keys."""
    yield from _of_cells(plan.cells)
    yield from _of_bridges(plan)
    yield from _of_functions(plan)
    yield from _of_modules(plan)


def _of_cells(cells: list[Cell]) -> Iterator[str]:
    if not cells:
        yield "it has no cell: a VM has a NUMA node with its memory"
    if [each.cell for each in cells] != list(range(len(cells))):
        yield "its cells are not numbered from 0 on, in order"
    vcpus = sorted(vcpu for each in cells for vcpu in each.vcpus)
    if not vcpus or vcpus != list(range(len(vcpus))):
        yield "the vCPUs of its cells are not each number from 0 on, once"
    for each in cells:
        if each.host_cpus and len(each.host_cpus) != len(each.vcpus):
            yield f"cell {each.cell} pins {len(each.vcpus)} vCPUs to {len(each.host_cpus)} CPUs"
        if len(each.distances) != len(cells):
            yield f"cell {each.cell} has {len(each.distances)} distances to {len(cells)} cells"
        elif each.cell < len(cells) and each.distances[each.cell] != _TO_ITSELF:
            yield f"cell {each.cell} has another distance to itself than {_TO_ITSELF}"
        if each.hugepage_kib is not None and each.memory_mib * _KIB_PER_MIB % each.hugepage_kib:
            yield f"cell {each.cell} has no whole number of its hugepages"


def _of_bridges(plan: Plan) -> Iterator[str]:
    known: dict[str, Bridge] = {}
    for each in plan.bridges:
        if each.parent != _ROOT and each.parent not in known:
            yield f"{each.name} is below {each.parent}, which is no bridge before it"
            return
        if each.name in known:
            yield f"{each.name} is there twice"
        yield from _at(each, known.get(each.parent))
        if each.cell is not None and each.cell >= len(plan.cells):
            yield f"{each.name} is near to cell {each.cell}, which the plan has not"
        known[each.name] = each
    yield from _twice("address", (each.address for each in plan.bridges))
    yield from _twice("bus", (f"{each.bus:02x}" for each in plan.bridges))
    ports = [each for each in plan.bridges if each.kind in _PORTS]
    yield from _twice("chassis and slot", ((each.chassis, each.slot) for each in ports))


def _at(bridge: Bridge, parent: Bridge | None) -> Iterator[str]:
    """Yield what is wrong with where a bridge is; None as parent is ``pcie.0``."""
    kind = None if parent is None else parent.kind
    if kind not in _BELOW[bridge.kind]:
        yield f"{bridge.name}, a {bridge.kind}, cannot be below {bridge.parent}"
    if kind in _PORTS and bridge.device:
        yield f"{bridge.name} is Device {bridge.device} below {bridge.parent}, which has only 0"
    bus, last = (0, 0xFF) if parent is None else (parent.bus, parent.last_bus)
    address = str(PciAddress(0, bus, bridge.device, bridge.function))
    if bridge.address != address:
        yield f"{bridge.name} is said to be at {bridge.address}, and its place is {address}"
    if not bus < bridge.bus <= bridge.last_bus <= last:
        yield f"{bridge.name} has buses {bridge.bus:02x} to {bridge.last_bus:02x}, which cannot be"


def _of_functions(plan: Plan) -> Iterator[str]:
    ports = {each.name: each for each in plan.bridges if each.kind in _PORTS}
    for each in plan.functions:
        port = ports.get(each.parent)
        if port is None:
            yield f"{each.name} is below {each.parent}, which is no port"
            continue
        address = str(PciAddress(0, port.bus, 0, each.function))
        if each.guest_address != address:
            yield f"{each.name} is said to be at {each.guest_address}, and its place is {address}"
        if each.cell is not None and each.cell >= len(plan.cells):
            yield f"{each.name} is near to cell {each.cell}, which the plan has not"
    names = [each.name for each in plan.bridges] + [each.name for each in plan.functions]
    yield from _twice("name", names)
    yield from _twice("address in the VM", (each.guest_address for each in plan.functions))
    yield from _twice("address on the host", (each.address for each in plan.functions))


def _of_modules(plan: Plan) -> Iterator[str]:
    gpus = {each.name for each in plan.functions if each.kind is Kind.GPU}
    for name in plan.nvswitch.modules:
        if name not in gpus:
            yield f"{name} has a module, and is no GPU of the plan"
    yield from _twice("module", plan.nvswitch.modules.values())


def _twice(what: str, values: Iterable[Hashable]) -> Iterator[str]:
    for value, count in Counter(values).items():
        if count > 1:
            yield f"the {what} {value} is there {count} times"
