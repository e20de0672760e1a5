"""Where a plan has a function, told so that other bus numbers below a root bus do not matter."""

from pcietune.address import PciAddress
from pcietune.guest.devices import Bridge, Passed
from pcietune.guest.kinds import BridgeKind
from pcietune.guest.plan import Plan
from pcietune.model.function import PciFunction

PORT_IDS = {
    BridgeKind.ROOT_PORT: "1b36:000c",
    BridgeKind.UPSTREAM_PORT: "104c:8232",
    BridgeKind.DOWNSTREAM_PORT: "104c:8233",
}
"""Of QEMU's ports (hw/pci-bridge, PCI_DEVICE_ID_... of each)."""

Hops = tuple[str, ...]
"""A root bus, as ``0000:20``, and Device and Function Number of each hop down from it."""


def ports_above(plan: Plan, passed: Passed) -> list[Bridge]:
    """Return the ports above a function of the plan, root port first; an expander is none."""
    return _ports_down_to(plan, passed.parent)


def expander_above(plan: Plan, passed: Passed) -> Bridge | None:
    """Return the expander that a function of the plan is below; None if it is below ``pcie.0``."""
    bridge = plan.bridge(passed.parent)
    while bridge is not None and bridge.kind is not BridgeKind.EXPANDER:
        bridge = plan.bridge(bridge.parent)
    return bridge


def planned_hops(plan: Plan, passed: Passed) -> Hops:
    """Return where the plan has a function."""
    addresses = [port.address for port in ports_above(plan, passed)]
    return _hops([PciAddress.parse(each) for each in (*addresses, passed.guest_address)])


def planned_bridges(plan: Plan) -> set[Hops]:
    """Return where the plan has bridges."""
    chains = [_ports_down_to(plan, bridge.name) for bridge in plan.bridges]
    return {_hops([PciAddress.parse(each.address) for each in chain]) for chain in chains if chain}


def found_hops(function: PciFunction) -> Hops:
    """Return where a function is."""
    return _hops([*function.ports, function.address])


def root_bus(function: PciFunction) -> str:
    """Return the root bus that a function is below, as ``0000:20``."""
    return found_hops(function)[0]


def _ports_down_to(plan: Plan, name: str) -> list[Bridge]:
    ports = []
    bridge = plan.bridge(name)
    while bridge is not None and bridge.kind is not BridgeKind.EXPANDER:
        ports.append(bridge)
        bridge = plan.bridge(bridge.parent)
    return ports[::-1]


def _hops(addresses: list[PciAddress]) -> Hops:
    first = addresses[0]
    return (f"{first.domain:04x}:{first.bus:02x}", *(each.devfn for each in addresses))
