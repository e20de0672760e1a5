"""Who is upstream of whom, and where the paths of two functions part."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pcietune.address import PciAddress
from pcietune.model.function import PciFunction
from pcietune.registers.express import PortType


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

    __slots__ = ("_below", "_port_types", "functions")

    functions: Mapping[PciAddress, PciFunction]
    _port_types: Mapping[PciAddress, PortType]
    _below: Mapping[PciAddress, list[PciFunction]]

    def __init__(
        self, functions: Iterable[PciFunction], port_types: Mapping[PciAddress, PortType]
    ) -> None:
        """Build the tree.

        Args:
            functions: All functions of the host.
            port_types: Device/Port Type as read from the bridges' registers. Where one is missing
                (unreadable, or not asked for) the place in the tree decides.
        """
        self.functions = {function.address: function for function in functions}
        self._port_types = port_types
        below: dict[PciAddress, list[PciFunction]] = {}
        for function in self.functions.values():
            for port in function.ports:
                below.setdefault(port, []).append(function)
        self._below = below

    def below(self, port: PciFunction) -> list[PciFunction]:
        """Return every function below ``port``, bridges included, in the order of addresses."""
        return self._below.get(port.address, [])

    def children(self, port: PciFunction) -> list[PciFunction]:
        """Return the functions on the bus right below ``port``."""
        return [f for f in self.below(port) if f.ports[-1] == port.address]

    def ports_above(self, function: PciFunction) -> list[PciFunction]:
        """Return the bridges above ``function``, root port first; those that vanished left out."""
        return [self.functions[port] for port in function.ports if port in self.functions]

    def port_type(self, bridge: PciFunction) -> PortType:
        """Return what kind of port a PCI-to-PCI bridge is.

        An unreadable one is taken for what its place says: a root port on the root bus, else an
        upstream port below a root or downstream port, else a downstream port.
        """
        known = self._port_types.get(bridge.address)
        if known is not None:
            return known
        above = self.ports_above(bridge)
        if not above:
            return PortType.ROOT_PORT
        if self.port_type(above[-1]) is PortType.UPSTREAM_PORT:
            return PortType.DOWNSTREAM_PORT
        return PortType.UPSTREAM_PORT

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
