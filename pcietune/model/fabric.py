"""Who is upstream of whom, and where the paths of two functions part."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pcietune.address import PciAddress
from pcietune.model.function import PciFunction
from pcietune.registers.express import PortType

_POSSIBLE_BELOW = {
    None: (PortType.ROOT_PORT, PortType.PCIE_TO_PCI_BRIDGE, PortType.PCI_TO_PCIE_BRIDGE),
    PortType.ROOT_PORT: (PortType.UPSTREAM_PORT, PortType.PCIE_TO_PCI_BRIDGE),
    PortType.UPSTREAM_PORT: (PortType.DOWNSTREAM_PORT,),
    PortType.DOWNSTREAM_PORT: (PortType.UPSTREAM_PORT, PortType.PCIE_TO_PCI_BRIDGE),
    PortType.PCIE_TO_PCI_BRIDGE: (PortType.PCI_TO_PCIE_BRIDGE,),
    PortType.PCI_TO_PCIE_BRIDGE: (PortType.UPSTREAM_PORT, PortType.PCIE_TO_PCI_BRIDGE),
}
"""What a bridge can be, by what is right above it; None stands for a root bus."""

_MIXED_UP = (PortType.UPSTREAM_PORT, PortType.DOWNSTREAM_PORT)
"""Some switches mix up the two; Linux corrects them by their place, too, and says so in dmesg
(drivers/pci/probe.c, set_pcie_port_type)."""


@dataclass(frozen=True, slots=True)
class Route:
    """Where the requests of one function to another cross a switch.

    Attributes:
        component: Upstream port of the switch that is the lowest common component.
        request_port: Downstream port below it on the requester's side: it decides about requests.
        completion_port: Downstream port below it on the completer's side: about completions.
    """

    component: PciFunction
    request_port: PciFunction
    completion_port: PciFunction


class Fabric:
    """A host's functions as a tree.

    Attributes:
        functions: By address, in the order of addresses.
    """

    __slots__ = ("_above", "_below", "_children", "_kinds", "_port_types", "functions")

    functions: Mapping[PciAddress, PciFunction]
    _port_types: Mapping[PciAddress, PortType]
    _below: Mapping[PciAddress, list[PciFunction]]
    _above: dict[PciAddress, list[PciFunction]]
    _children: dict[PciAddress, list[PciFunction]]
    _kinds: dict[PciAddress, PortType]

    def __init__(
        self, functions: Iterable[PciFunction], port_types: Mapping[PciAddress, PortType]
    ) -> None:
        """Build the tree.

        Args:
            functions: All functions of the host.
            port_types: Device/Port Type as read from the bridges' registers. Where one is missing
                (unreadable, or not asked for) or cannot be, the place in the tree decides.
        """
        self.functions = {function.address: function for function in functions}
        self._port_types = port_types
        below: dict[PciAddress, list[PciFunction]] = {}
        for function in self.functions.values():
            for port in function.ports:
                below.setdefault(port, []).append(function)
        self._below = below
        self._children = {}
        self._above = {}
        self._kinds = {}

    def below(self, port: PciFunction) -> list[PciFunction]:
        """Return every function below ``port``, bridges included, in the order of addresses."""
        return self._below.get(port.address, [])

    def children(self, port: PciFunction) -> list[PciFunction]:
        """Return the functions on the bus right below ``port``."""
        children = self._children.get(port.address)
        if children is None:
            children = [f for f in self.below(port) if f.ports[-1] == port.address]
            self._children[port.address] = children
        return children

    def ports_above(self, function: PciFunction) -> list[PciFunction]:
        """Return the bridges above ``function``, root port first; those that vanished left out."""
        above = self._above.get(function.address)
        if above is None:
            above = [self.functions[port] for port in function.ports if port in self.functions]
            self._above[function.address] = above
        return above

    def port_type(self, bridge: PciFunction) -> PortType:
        """Return what kind of port a PCI-to-PCI bridge is.

        One that is unreadable, or says what cannot be where it is, is taken for what its place
        says: a root port on the root bus, else an upstream port below a root or downstream port,
        else a downstream port.
        """
        kind = self._kinds.get(bridge.address)
        if kind is None:
            known = self._port_types.get(bridge.address)
            guessed, possible = self._by_place(bridge)
            kind = guessed if known is None or known not in possible else known
            self._kinds[bridge.address] = kind
        return kind

    def receives(self, function: PciFunction) -> bool:
        """Return whether it is a root or downstream port: it receives from below, by its ACS."""
        kinds = (PortType.ROOT_PORT, PortType.DOWNSTREAM_PORT)
        return function.is_pci_bridge and self.port_type(function) in kinds

    def false_port_type(self, bridge: PciFunction) -> PortType | None:
        """Return what a bridge says it is, if it cannot be that; None if it can, or Linux helps."""
        known = self._port_types.get(bridge.address)
        guessed, possible = self._by_place(bridge)
        if known is None or known in possible:
            return None
        return None if known in _MIXED_UP and guessed in _MIXED_UP else known

    def _by_place(self, bridge: PciFunction) -> tuple[PortType, tuple[PortType, ...]]:
        """Return what a bridge is by its place, and all that it can be; below a vanished one all.

        The bridge right above it is looked at once: there may be hundreds in a row.
        """
        above = self.ports_above(bridge)
        kind = self.port_type(above[-1]) if above else None
        known_place = not bridge.ports or (above and above[-1].address == bridge.ports[-1])
        possible = _POSSIBLE_BELOW.get(kind, ()) if known_place else tuple(PortType)
        if kind is None:
            return PortType.ROOT_PORT, possible
        if kind is PortType.UPSTREAM_PORT:
            return PortType.DOWNSTREAM_PORT, possible
        return PortType.UPSTREAM_PORT, possible

    def topmost_switch(self, function: PciFunction) -> PciFunction | None:
        """Return the topmost upstream port above ``function``; None if it is below no switch."""
        return next(
            (
                port
                for port in self.ports_above(function)
                if self.port_type(port) is PortType.UPSTREAM_PORT
            ),
            None,
        )

    def route(self, requester: PciFunction, completer: PciFunction) -> Route | None:
        """Return where the two functions' paths part in a switch.

        None if they part in the root complex, or not at all (functions of one device).
        """
        ours, theirs = self.ports_above(requester), self.ports_above(completer)
        common = [one for one, other in zip(ours, theirs, strict=False) if one == other]
        depth = len(common)
        if (
            not common
            or self.port_type(common[-1]) is not PortType.UPSTREAM_PORT
            or depth >= len(ours)
            or depth >= len(theirs)
        ):
            return None
        return Route(common[-1], ours[depth], theirs[depth])
