"""The bridges between a switch group's GPUs and NICs and their root ports."""

from pcietune.address import PciAddress
from pcietune.model.fabric import Fabric
from pcietune.model.function import PciFunction
from pcietune.model.switch_group import SwitchGroup
from pcietune.registers.express import PortType


def path_ports(fabric: Fabric, group: SwitchGroup) -> list[PciFunction]:
    """Return root, upstream and downstream ports above any of them, in the order of addresses."""
    ports: dict[PciAddress, PciFunction] = {}
    for member in (*group.gpus, *group.nics):
        ports |= {port.address: port for port in fabric.ports_above(member)}
    return [ports[address] for address in sorted(ports)]


def upstream_ports(fabric: Fabric, group: SwitchGroup) -> list[PciFunction]:
    """Return the upstream ports among them: each has the link that its switch shares."""
    return [
        port
        for port in path_ports(fabric, group)
        if fabric.port_type(port) is PortType.UPSTREAM_PORT
    ]
