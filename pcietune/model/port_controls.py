"""How one port decides about packets from below: its ACS, as read, or as it is to be."""

from dataclasses import dataclass
from enum import Enum

from pcietune.address import PciAddress
from pcietune.registers.acs import AcsControl

_HARD_WIRED = (
    AcsControl.P2P_REQUEST_REDIRECT
    | AcsControl.P2P_COMPLETION_REDIRECT
    | AcsControl.UPSTREAM_FORWARDING
)
"""Controls that count as on where ACS does not implement them (``on_or_hard_wired``)."""


class Setting(Enum):
    """What is known of one control of a port: never a bit that nobody read."""

    ON = "+"
    OFF = "-"
    HARD_WIRED = " hard-wired"
    NOT_KNOWN = " not known"
    NO_ACS = "no ACS"


@dataclass(frozen=True, slots=True)
class PortControls:
    """The ACS of a port, or of a function of a device with several.

    Attributes:
        enabled: Controls that are on; none without the capability, but for what a port of a quirk
            does as if it were on. None if that could not be read.
        supported: Controls that it implements, alike; None if that could not be read.
        blocked: With P2P Egress Control, the ports of the same switch, or functions of the same
            device, whose bit in the Egress Control Vector is 1; None if that is not known.
        present: Whether there is an ACS capability: without one nothing can be written.
        why_unread: What kept it from being read; None if nothing did.
    """

    enabled: AcsControl | None
    supported: AcsControl | None
    blocked: frozenset[PciAddress] | None = frozenset()
    present: bool = True
    why_unread: str | None = None

    def has(self, control: AcsControl) -> bool | None:
        """Return whether a control is on; None if not known."""
        return None if self.enabled is None else control in self.enabled

    def setting(self, control: AcsControl) -> Setting:
        """Return what is known of a control."""
        if self.enabled is None:
            return Setting.NOT_KNOWN
        if control in self.enabled:
            return Setting.ON
        if not self.present:
            return Setting.NO_ACS
        if control in _HARD_WIRED and self.on_or_hard_wired(control):
            return Setting.HARD_WIRED
        return Setting.OFF

    @property
    def redirects_requests(self) -> bool | None:
        """Whether requests for peers go up; None if not known.

        One that has ACS and does not implement P2P Request Redirect has no way to its peers, as
        Linux takes it (pci_acs_flags_enabled, drivers/pci/pci.c).
        """
        return self.on_or_hard_wired(AcsControl.P2P_REQUEST_REDIRECT)

    def on_or_hard_wired(self, control: AcsControl) -> bool | None:
        """Return whether a control keeps peers apart; None if not known.

        What ACS does not implement of those that do, Linux takes for hard-wired to be on
        (pci_acs_flags_enabled, drivers/pci/pci.c).
        """
        if self.enabled is None:
            return None
        if control in self.enabled:
            return True
        if not self.present:
            return False
        return None if self.supported is None else control not in self.supported


NO_ACS = PortControls(AcsControl(0), AcsControl(0), present=False)
"""What a port without the capability does: nothing keeps a request from its peers."""
