"""How far apart two functions are, as the hardware has it, in nvidia-smi's words."""

from enum import StrEnum

from pcietune.address import PciAddress
from pcietune.model.fabric import Fabric
from pcietune.model.function import PciFunction
from pcietune.registers.express import PortType


class Place(StrEnum):
    """The most that lies between two functions, as ``nvidia-smi topo -m`` names it."""

    SAME = "X"  # one device
    PIX = "PIX"  # at most one switch, or one bridge to conventional PCI
    PXB = "PXB"  # several
    PHB = "PHB"  # a host bridge: the root complex
    NODE = "NODE"  # several host bridges of one NUMA node
    SYS = "SYS"  # the link between NUMA nodes
    UNKNOWN = "?"  # the root complex; whether that of one NUMA node is not known


_LINKS = (PortType.ROOT_PORT, PortType.DOWNSTREAM_PORT)  # below each is one device
_COMPONENTS = (PortType.UPSTREAM_PORT, PortType.PCIE_TO_PCI_BRIDGE)  # one for each part crossed


def place(
    fabric: Fabric, one: PciFunction, other: PciFunction, nodes: tuple[int | None, int | None]
) -> Place:
    """Return how far apart two functions are.

    A part that its vendor builds of several switches, as Broadcom's PEX88000 and PEX89000 can be,
    counts as what its ports say it is: several. NCCL takes some of those for one.

    Args:
        fabric: The functions, with port types for all bridges above the two.
        one: Any endpoint.
        other: Any other.
        nodes: Their NUMA nodes; None or -1 where that is not known.
    """
    if one.slot == other.slot:
        return Place.SAME
    ours, theirs = fabric.ports_above(one), fabric.ports_above(other)
    common = [port for port, twin in zip(ours, theirs, strict=False) if port == twin]
    if common:
        if ours == theirs and fabric.port_type(common[-1]) in _LINKS:
            return Place.SAME
        crossed = {port.address for port in (*ours, *theirs) if port not in common[:-1]}
        kinds = [fabric.port_type(fabric.functions[address]) for address in crossed]
        return Place.PIX if sum(kind in _COMPONENTS for kind in kinds) <= 1 else Place.PXB
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
