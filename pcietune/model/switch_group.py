"""Switch groups, and the places of the ports in each."""

from collections.abc import Mapping
from dataclasses import dataclass

from pcietune.address import PciAddress
from pcietune.model.fabric import Fabric
from pcietune.model.function import PciFunction
from pcietune.model.profile import Place, Profile
from pcietune.model.role_name import RoleName


@dataclass(frozen=True, slots=True)
class PlacedPort:
    """A root or downstream port above a NIC or GPU of a switch group.

    Attributes:
        port: The port.
        places: All of its places, in the order of precedence.
        above_nic: Whether a NIC of the group is below it: only then TransBlk matters.
        opens_for: Trusted NICs of the group whose requests to a GPU turn around here.
    """

    port: PciFunction
    places: tuple[Place, ...]
    above_nic: bool
    opens_for: tuple[PciFunction, ...]


@dataclass(frozen=True, slots=True)
class SwitchGroup:
    """All that lies below one topmost upstream port, with at least one GPU and one NIC.

    Attributes:
        top: The topmost upstream port; its location names the group.
        gpus: Functions of role gpu.
        nics: Functions of role nic.
        ports: Every root or downstream port above any of them, in the order of addresses.
    """

    top: PciFunction
    gpus: tuple[PciFunction, ...]
    nics: tuple[PciFunction, ...]
    ports: tuple[PlacedPort, ...]

    @property
    def name(self) -> str:
        """The location of the topmost upstream port."""
        return self.top.location


def switch_groups(
    fabric: Fabric, roles: Mapping[PciAddress, RoleName], profile: Profile
) -> tuple[SwitchGroup, ...]:
    """Return the host's switch groups, in the order of their topmost ports' addresses."""
    members: dict[PciAddress, list[PciFunction]] = {}
    for address in sorted(roles):
        top = fabric.topmost_switch(fabric.functions[address])
        if top is not None:
            members.setdefault(top.address, []).append(fabric.functions[address])
    groups = []
    for top_address, functions in sorted(members.items()):
        gpus = tuple(f for f in functions if roles[f.address] is RoleName.GPU)
        nics = tuple(f for f in functions if roles[f.address] is RoleName.NIC)
        if gpus and nics:
            trusted = profile.roles[RoleName.NIC].trusted
            ports = _placed_ports(fabric, gpus, nics, trusted=trusted)
            groups.append(SwitchGroup(fabric.functions[top_address], gpus, nics, ports))
    return tuple(groups)


def _placed_ports(
    fabric: Fabric,
    gpus: tuple[PciFunction, ...],
    nics: tuple[PciFunction, ...],
    *,
    trusted: bool,
) -> tuple[PlacedPort, ...]:
    request_ports: dict[PciAddress, dict[PciAddress, PciFunction]] = {}
    completion_ports: set[PciAddress] = set()
    for nic in nics:
        for gpu in gpus:
            route = fabric.route(nic, gpu)
            if route is not None:
                request_ports.setdefault(route.request_port.address, {})[nic.address] = nic
                completion_ports.add(route.completion_port.address)
    above_nics = {port.address for nic in nics for port in fabric.ports_above(nic)}
    above_all = {port.address: port for f in (*gpus, *nics) for port in fabric.ports_above(f)}
    placed = []
    for address, port in sorted(above_all.items()):
        if not fabric.receives(port):
            continue
        places = [
            place
            for place, ports in (
                (Place.NIC_SIDE, request_ports),
                (Place.GPU_SIDE, completion_ports),
            )
            if address in ports
        ]
        placed.append(
            PlacedPort(
                port=port,
                places=tuple(places) or (Place.UPSTREAM,),
                above_nic=address in above_nics,
                opens_for=tuple(request_ports.get(address, {}).values()) if trusted else (),
            )
        )
    return tuple(placed)
