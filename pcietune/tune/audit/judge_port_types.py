"""Tell of bridges on a switch group's paths that do not say what kind of port they are."""

from pcietune.errors import ConfigSpaceError, PcietuneError
from pcietune.model.access import HostAccess
from pcietune.model.fabric import Fabric
from pcietune.model.finding import Finding, Subject, Value
from pcietune.model.function import PciFunction
from pcietune.model.switch_group import SwitchGroup
from pcietune.registers.express import Express

ID = "port.type"

_WANTED = Value("a Device/Port Type that can be read")


def judge_port_types(host: HostAccess, fabric: Fabric, group: SwitchGroup) -> list[Finding]:
    """Return an error for every bridge whose kind was guessed by its place.

    Where paths part was then guessed, too. Of root and downstream ports whatever else is asked of
    them says that they cannot be read, but not that they say what cannot be.
    """
    asked = {placed.port.address for placed in group.ports}
    bridges = {
        bridge.address: bridge
        for member in (*group.gpus, *group.nics)
        for bridge in fabric.ports_above(member)
    }
    findings = []
    for bridge in bridges.values():
        try:
            _check_claim(fabric, bridge)
            if bridge.address not in asked:
                express = Express.find(host.config(bridge))
                _ = None if express is None else express.port_type
        except PcietuneError as error:
            findings.append(Finding.unread(ID, Subject.of(bridge), _WANTED, error))
    return findings


def _check_claim(fabric: Fabric, bridge: PciFunction) -> None:
    """Do nothing if a bridge can be what it says it is.

    Raises:
        ConfigSpaceError: It cannot.
    """
    claim = fabric.false_port_type(bridge)
    if claim is not None:
        says, place = (
            kind.name.lower().replace("_", " ") for kind in (claim, fabric.port_type(bridge))
        )
        raise ConfigSpaceError(
            f"{bridge.address}: its Device/Port Type says {says} ({claim:#x}), but where it is "
            f"there can only be a port such as {place}: it is judged as that",
            hint="compare with lspci -vvv; a firmware update of the device may be due",
        )
