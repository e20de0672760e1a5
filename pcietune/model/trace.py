"""What became of a packet: every port that it met, what that did, and where it ended up."""

from dataclasses import dataclass
from enum import StrEnum

from pcietune.model.function import PciFunction
from pcietune.model.packet import Packet
from pcietune.model.port_controls import Setting
from pcietune.registers.acs import LSPCI_NAMES, AcsControl


class Outcome(StrEnum):
    """Where a packet went."""

    DIRECT = "direct"  # turned at the lowest common switch, or inside of the one device
    TURNED_ABOVE = "turned above"  # sent up, and turned by a port higher up: past the IOMMU
    VIA_ROOT_COMPLEX = "via root complex"
    BLOCKED = "blocked"
    MISROUTED = "misrouted"  # by a guest's address: to whatever has it on the host, or to nobody
    UNKNOWN = "unknown"

    @property
    def arrives(self) -> bool:
        """Whether a packet that went there reached whom it was for."""
        return self in (Outcome.DIRECT, Outcome.TURNED_ABOVE, Outcome.VIA_ROOT_COMPLEX)


class Decision(StrEnum):
    """What a port did with a packet."""

    UP = "up"  # nothing below its switch has the address, so no control matters
    ACROSS = "across"
    REDIRECTED = "redirected"
    FORWARDED = "forwarded"  # came up redirected, though its target is below: UpstreamFwd
    TURNED = "turned"  # alike, without UpstreamFwd
    VIOLATION = "violation"
    MISROUTED = "misrouted"
    NOT_KNOWN = "not known"
    ROOT_COMPLEX = "root complex"  # the only one without a port
    DOWN = "down"  # ACS decides about packets from below only


@dataclass(frozen=True, slots=True)
class Step:
    """What one port did.

    Attributes:
        port: A root or downstream port, or a function of a device with several that decides about
            what it sends to the others; None for the root complex itself.
        decision: What it did.
        control: Which of its controls made it so; None if none did.
        on: Whether that control is on; None without one, or if it could not be read.
        setting: What is known of it; None without one.
    """

    port: PciFunction | None
    decision: Decision
    control: AcsControl | None = None
    on: bool | None = None
    setting: Setting | None = None

    @property
    def control_text(self) -> str:
        """The control and its setting as lspci has them: ``ReqRedir+``; empty without one."""
        if self.control is None or self.setting is None:
            return ""
        name = "" if self.setting is Setting.NO_ACS else LSPCI_NAMES[self.control]
        return f"{name}{self.setting.value}"


@dataclass(frozen=True, slots=True)
class Trace:
    """A packet's way.

    Attributes:
        packet: What was sent.
        source: By whom: of a completion that is the completer.
        target: To whom.
        steps: In the order in which the packet meets the ports.
        outcome: Where it went.
        reason: One sentence on why, without the addresses of ``at``, ``source`` and ``target``.
        at: The port that decided; None if it was the root complex, or no port did.
        control: The control that decided; None if none did.
        iommu: Whether an IOMMU translates it on its way; None if that is not known.
    """

    packet: Packet
    source: PciFunction
    target: PciFunction
    steps: tuple[Step, ...]
    outcome: Outcome
    reason: str
    at: PciFunction | None = None
    control: AcsControl | None = None
    iommu: bool | None = False

    @property
    def is_direct(self) -> bool:
        """Whether it took the shortest way."""
        return self.outcome is Outcome.DIRECT
