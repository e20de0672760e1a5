"""A port's ACS, found with its quirks in mind."""

from pcietune.model.access import HostAccess
from pcietune.model.function import PciFunction
from pcietune.model.quirks import quirk_of
from pcietune.registers.acs import Acs, AcsControl


def find_acs(host: HostAccess, port: PciFunction) -> Acs | None:
    """Return the port's ACS with its quirk in mind; None if it has none; errors as Acs.find."""
    quirk = quirk_of(port)
    return Acs.find(host.config(port), dword_registers=quirk is not None and quirk.dword_acs)


def built_in_controls(port: PciFunction) -> AcsControl:
    """Return what a port without ACS does as if it were on; it cannot be turned off."""
    quirk = quirk_of(port)
    return AcsControl(0) if quirk is None else quirk.built_in
