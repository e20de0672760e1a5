"""How far apart two functions are, as the hardware has it, in nvidia-smi's words."""

from enum import StrEnum

from pcietune.address import PciAddress
from pcietune.model.fabric import Fabric
from pcietune.model.function import PciFunction
from pcietune.registers.express import PortType


class Place(StrEnum):
    """The most that lies between two functions, as ``nvidia-smi topo -m`` names it."""

    SAME = "X"  # one device
    PIX = "PIX"  # at most one switch
    PXB = "PXB"  # several switches
    PHB = "PHB"  # a host bridge: the root complex
    NODE = "NODE"  # several host bridges of one NUMA node
    SYS = "SYS"  # the link between NUMA nodes
    UNKNOWN = "?"  # the root complex; whether that of one NUMA node is not known


def place(
    fabric: Fabric, one: PciFunction, other: PciFunction, nodes: tuple[int | None, int | None]
) -> Place:
    """Return how far apart two functions are.

    Args:
        fabric: The functions, with port types for all bridges above the two.
        one: Any endpoint.
        other: Any other.
        nodes: Their NUMA nodes; None or -1 where that is not known.
    """
    if one.slot == other.slot or (one.ports and one.ports == other.ports):
        return Place.SAME
    route = fabric.route(one, other)
    if route is not None:
        below = [*fabric.ports_above(one), *fabric.ports_above(other)]
        switches = {
            port.address
            for port in below
            if route.component.address in (*port.ports, port.address)
            and fabric.port_type(port) is PortType.UPSTREAM_PORT
        }
        return Place.PIX if len(switches) == 1 else Place.PXB
    roots = {_host_bridge(one), _host_bridge(other)}
    if len(roots) == 1:
        return Place.PHB
    known = [node for node in nodes if node is not None and node >= 0]
    if len(known) < 2:
        return Place.UNKNOWN
    return Place.NODE if known[0] == known[1] else Place.SYS


def _host_bridge(function: PciFunction) -> tuple[int, int]:
    """Return domain and number of the root bus that a function is below."""
    top: PciAddress = function.ports[0] if function.ports else function.address
    return (top.domain, top.bus)
