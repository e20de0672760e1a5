"""VMs as their kernel shows them, made from a plan by what QEMU 7.2 and Linux 6.12 were seen to do.

Nothing of pcietune but the plan is used here.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from trees.config import DOWNSTREAM_PORT, ENDPOINT, ROOT_PORT, UPSTREAM_PORT, ConfigBuilder
from trees.express import Express
from trees.function import Function
from trees.host import TreeHost
from trees.nodes import add_node

from pcietune.guest.devices import Bridge, Passed
from pcietune.guest.kinds import BridgeKind
from pcietune.guest.plan import Plan

_MEMORY, _MEMORY_64 = 0x0004_0200, 0x0014_220C  # flags of sysfs ``resource`` (linux/ioport.h)
_CODES = {"2.5": 1, "5.0": 2, "8.0": 3, "16.0": 4, "32.0": 5}  # of Link Capabilities, by GT/s
_PORTS: dict[BridgeKind, tuple[str, int, str, int]] = {
    BridgeKind.ROOT_PORT: ("1b36:000c", ROOT_PORT, "16.0 GT/s PCIe", 32),
    BridgeKind.UPSTREAM_PORT: ("104c:8232", UPSTREAM_PORT, "2.5 GT/s PCIe", 1),
    BridgeKind.DOWNSTREAM_PORT: ("104c:8233", DOWNSTREAM_PORT, "Unknown", 0),
}


@dataclass(frozen=True)
class Node:
    """A NUMA node: its CPUs as the kernel lists them, and MemTotal."""

    cpus: str
    memory_kib: int


@dataclass(frozen=True)
class Vm:
    """What a VM's kernel shows.

    Attributes:
        functions: A bridge before what is below it.
        nodes: By number.
    """

    functions: tuple[Function, ...]
    nodes: Mapping[int, Node] = field(default_factory=dict)

    def write(self, root: Path) -> TreeHost:
        """Lay the VM out below a directory."""
        tree = TreeHost(root)
        tree.put("sys/devices/virtual/dmi/id/sys_vendor", "QEMU")
        tree.add(*self.functions)
        for number, node in self.nodes.items():
            add_node(tree, number, cpus=node.cpus, memory_kib=node.memory_kib)
        return tree

    def at(self, address: str) -> Function:
        """Return the function at an address."""
        (found,) = (function for function in self.functions if function.address == address)
        return found

    def changed(self, address: str, change: Callable[[Function], Function]) -> "Vm":
        """Return the VM with one function changed."""
        functions = (change(f) if f.address == address else f for f in self.functions)
        return replace(self, functions=tuple(functions))

    def showing(self, address: str, **attributes: str) -> "Vm":
        """Return the VM with other sysfs files of one function."""
        return self.changed(address, lambda f: replace(f, attributes=f.attributes | attributes))

    def without(self, *addresses: str) -> "Vm":
        """Return the VM without some functions and all that is below them."""
        gone, left = set(addresses), []
        for function in self.functions:
            if function.address in gone or function.below in gone:
                gone.add(function.address)
            else:
                left.append(function)
        return replace(self, functions=tuple(left))

    def moved(self, moves: Mapping[str, str]) -> "Vm":
        """Return the VM with functions at other addresses."""
        functions = (
            replace(
                function,
                address=moves.get(function.address, function.address),
                below=function.below and moves.get(function.below, function.below),
            )
            for function in self.functions
        )
        return replace(self, functions=tuple(functions))

    def shifted(self, by: int, *, first: int, last: int = 0xFF) -> "Vm":
        """Return the VM with other numbers of the buses from ``first`` to ``last``."""
        moves = {}
        for function in self.functions:
            bus = int(function.address[5:7], 16)
            if first <= bus <= last:
                moves[function.address] = f"0000:{bus + by:02x}:{function.address[8:]}"
        return self.moved(moves)

    def plus(self, *functions: Function) -> "Vm":
        """Return the VM with more functions."""
        return replace(self, functions=(*self.functions, *functions))


def vm_of(plan: Plan) -> Vm:
    """Return the VM of a plan, with what every q35 has besides."""
    functions = [
        Function("0000:00:00.0", ConfigBuilder("8086:29c0", 0x060000)),
        Function("0000:00:01.0", ConfigBuilder("1af4:1041", 0x020000)),  # virtio
        Function("0000:00:02.0", ConfigBuilder("1234:1111", 0x030000)),  # QEMU's VGA
    ]
    nodes_of: dict[str, int | None] = {"pcie.0": None}
    for bridge in plan.bridges:
        nodes_of[bridge.name] = bridge.cell if bridge.cell is not None else nodes_of[bridge.parent]
        functions.append(_bridge(plan, bridge, nodes_of[bridge.name]))
    functions += [passed_function(plan, passed) for passed in plan.functions]
    nodes = {
        cell.cell: Node(
            f"{cell.vcpus[0]}-{cell.vcpus[-1]}" if len(cell.vcpus) > 1 else str(cell.vcpus[0]),
            cell.memory_mib * 1024 * 63 // 64 - (40 << 10),  # without page structs and kernel
        )
        for cell in plan.cells
    }
    return Vm(tuple(functions), nodes)


def port(
    kind: BridgeKind, address: str, below: str | None = None, link: tuple[str, int] | None = None
) -> Function:
    """Return a port of QEMU's, with another link than by default if one is given."""
    identity, port_type, *_ = _PORTS[kind]
    speed, lanes = link or _PORTS[kind][2:]
    config = ConfigBuilder(identity, 0x060400).express(port_type, _express(speed, lanes))
    attributes = {"max_link_speed": speed, "max_link_width": str(lanes)}
    return Function(address, config, below=below, driver="pcieport", attributes=attributes)


def passed_function(plan: Plan, passed: Passed, *, clique: int | None = None) -> Function:
    """Return a planned function as vfio-pci shows it, by default with the planned clique."""
    config = ConfigBuilder(passed.id, int(passed.class_code, 16)).express(
        ENDPOINT, _express(passed.link_speed or "Unknown", 16)
    )
    given = passed.clique if clique is None else clique
    if given is not None:  # hw/vfio/pci-quirks.c, vfio_add_nv_gpudirect_cap
        config.capability(0x09, b"\x08P2P" + bytes([given << 3, 0]))
    if passed.ats:
        config.ats(0x0020, 0x8000)
    parent = plan.bridge(passed.parent)
    attributes = {
        "resource": resource(passed.bars_64, passed.bars_32),
        "numa_node": str(-1 if passed.cell is None else passed.cell),
    }
    if passed.link_speed is not None:
        attributes |= {"max_link_speed": passed.link_speed, "max_link_width": "16"}
    below = None if parent is None else parent.address
    return Function(passed.guest_address, config, below=below, attributes=attributes)


def resource(large: list[int], small: list[int]) -> str:
    """Return the sysfs ``resource`` of a function with these BARs, all with an address."""
    rows, start = [], 0x40_0000_0000_0000
    for sizes, flags in ((large, _MEMORY_64), (small, _MEMORY)):
        for size in sizes:
            rows.append((start, start + size - 1, flags))
            start += 2 * size
    rows += [(0, 0, 0)] * (13 - len(rows))
    return "\n".join(" ".join(f"{number:#018x}" for number in row) for row in rows)


def _express(speed: str, lanes: int) -> Express:
    code = _CODES.get(speed.partition(" ")[0], 0)
    return Express(speed=code, lanes=lanes if code else 0)


def _bridge(plan: Plan, bridge: Bridge, node: int | None) -> Function:
    shown = {"numa_node": str(-1 if node is None else node)}
    if bridge.kind is BridgeKind.EXPANDER:
        return Function(
            bridge.address, ConfigBuilder("1b36:000b", 0x060000), attributes={"numa_node": "-1"}
        )
    parent = plan.bridge(bridge.parent)
    on_root = parent is None or parent.kind is BridgeKind.EXPANDER
    link = None
    if bridge.speed is not None and bridge.width is not None:
        link = (f"{float(bridge.speed.replace('_', '.'))} GT/s PCIe", bridge.width)
    below = None if on_root or parent is None else parent.address
    made = port(bridge.kind, bridge.address, below, link)
    return replace(made, attributes=made.attributes | shown)
