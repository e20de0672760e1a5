"""The ACS of ports as routes need it: read once each, or as it is once a profile holds."""

from collections.abc import Mapping
from dataclasses import replace

from pcietune.address import PciAddress
from pcietune.errors import PcietuneError
from pcietune.model.access import HostAccess
from pcietune.model.fabric import Fabric
from pcietune.model.function import PciFunction
from pcietune.model.port_controls import NO_ACS, PortControls
from pcietune.model.profile import AcsWant
from pcietune.model.route import ControlsOf
from pcietune.registers.acs import Acs, AcsControl
from pcietune.registers.express import Express
from pcietune.tune.port_acs import built_in_controls, find_acs


class ControlsReader:
    """Reads the controls of those ports that are asked for, each once.

    Attributes:
        problems: What kept some from being read, in the order of asking.
    """

    def __init__(self, host: HostAccess, fabric: Fabric) -> None:
        self.problems: list[PcietuneError] = []
        self._host = host
        self._fabric = fabric
        self._known: dict[PciAddress, PortControls] = {}

    def __call__(self, port: PciFunction) -> PortControls:
        """Return what the port's registers say."""
        known = self._known.get(port.address)
        if known is None:
            known = self._known[port.address] = self._read(port)
        return known

    def _read(self, port: PciFunction) -> PortControls:
        try:
            acs = find_acs(self._host, port)
            if acs is None:
                built_in = built_in_controls(port)
                return PortControls(built_in, built_in, present=False) if built_in else NO_ACS
            blocked: frozenset[PciAddress] | None = frozenset()
            if AcsControl.P2P_EGRESS_CONTROL in acs.enabled:
                blocked = self._blocked(port, acs)
            return PortControls(acs.enabled, acs.supported, blocked)
        except PcietuneError as error:
            self.problems.append(error)
            return PortControls(None, None, None, why_unread=str(error))

    def _blocked(self, port: PciFunction, acs: Acs) -> frozenset[PciAddress] | None:
        """Return the peers whose bit in the Egress Control Vector is 1; None if not known."""
        blocked = []
        try:
            for peer in self._peers(port):
                number = peer.address.function
                if peer.is_pci_bridge:
                    express = Express.find(self._host.config(peer))
                    if express is None:
                        return None
                    number = express.port_number
                blocks = acs.egress_blocks(number)
                if blocks is None:
                    return None
                if blocks:
                    blocked.append(peer.address)
        except PcietuneError:
            return None
        return frozenset(blocked)

    def _peers(self, port: PciFunction) -> list[PciFunction]:
        above = self._fabric.ports_above(port)
        beside = self._fabric.children(above[-1]) if above else []
        return [other for other in beside if other != port]


def once_written(
    controls_of: ControlsOf, wanted: Mapping[PciAddress, tuple[AcsWant, ...]]
) -> ControlsOf:
    """Return the controls as they are once ports have what is wanted and they are capable of.

    Args:
        controls_of: As they are now.
        wanted: By port.
    """

    def written(port: PciFunction) -> PortControls:
        now = controls_of(port)
        if now.enabled is None or now.supported is None or not now.present:
            return now
        enabled = now.enabled
        for want in wanted.get(port.address, ()):
            if not want.on:
                enabled &= ~want.control
            elif want.control in now.supported:
                enabled |= want.control
        return now if enabled == now.enabled else replace(now, enabled=enabled)

    return written
