"""Tell of bridges on a switch group's paths that do not say what kind of port they are."""

from pcietune.errors import PcietuneError
from pcietune.model.access import HostAccess
from pcietune.model.fabric import Fabric
from pcietune.model.finding import Finding, Subject, Value
from pcietune.model.switch_group import SwitchGroup
from pcietune.registers.express import Express

ID = "port.type"

_WANTED = Value("a Device/Port Type that can be read")


def judge_port_types(host: HostAccess, fabric: Fabric, group: SwitchGroup) -> list[Finding]:
    """Return an error for every bridge whose kind was guessed by its place, since it is silent.

    Where paths part was then guessed, too. Root and downstream ports are left out: whatever else
    is asked of them says it.
    """
    asked = {placed.port.address for placed in group.ports}
    bridges = {
        bridge.address: bridge
        for member in (*group.gpus, *group.nics)
        for bridge in fabric.ports_above(member)
        if bridge.address not in asked
    }
    findings = []
    for bridge in bridges.values():
        try:
            express = Express.find(host.config(bridge))
            _ = None if express is None else express.port_type
        except PcietuneError as error:
            findings.append(Finding.unread(ID, Subject.of(bridge), _WANTED, error))
    return findings
