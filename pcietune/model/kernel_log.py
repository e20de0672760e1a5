"""What the kernel's log says of PCI functions: its lines, and the events that they tell of."""

from dataclasses import dataclass
from enum import StrEnum

from pcietune.address import PciAddress


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line, without facility, level and time.

    Attributes:
        at_us: When it was written, in microseconds since the boot.
        text: As printed.
    """

    at_us: int
    text: str


class LogEventKind(StrEnum):
    """What happened."""

    INVALIDATION_TIMEOUT = "invalidation-timeout"  # a function did not answer the IOMMU
    ACS_VIOLATION = "acs-violation"
    ERROR = "error"  # an uncorrectable one, as AER reported it
    CONTAINED = "contained"  # a port took its link down: DPC
    RECOVERED = "recovered"  # AER recovery, successful
    NOT_RECOVERED = "not-recovered"  # AER recovery, failed
    LINK_RESET = "link-reset"  # by AER recovery: all below lost their registers
    RESET = "reset"  # of one function
    HOT_PLUGGED = "hot-plugged"
    ENUMERATED = "enumerated"  # the kernel found a function: at boot, hot-plug or rescan
    ACS_CONFIGURED = "acs-configured"  # by the kernel command line
    RESUMED = "resumed"  # the whole host, from sleep


class Violation(StrEnum):
    """What a port that reports an ACS violation stopped."""

    UNNUMBERED = "unnumbered"  # sent right after a hot-plug, before it had a bus number: harmless
    MESSAGE = "message"  # no request to a peer
    PEER_REQUEST = "peer-request"
    NOT_TOLD = "not-told"  # the packet's header is not in the log


@dataclass(frozen=True, slots=True)
class LogEvent:
    """One event.

    Attributes:
        kind: What happened.
        at_us: When, in microseconds since the boot.
        text: The line that says so.
        address: The function that the line names; None if it names none with its domain.
        source: For a time-out, the function's Requester ID where no domain is told; for an ACS
            violation, that of the packet: bus, device and function in 16 bits; None if not told.
        violation: For an ACS violation, what was stopped; else None.
        word: For ACS_CONFIGURED, ACS Control as the kernel left it; else None.
    """

    kind: LogEventKind
    at_us: int
    text: str
    address: PciAddress | None = None
    source: int | None = None
    violation: Violation | None = None
    word: int | None = None


def source_text(source: int) -> str:
    """Return a Requester ID as lspci prints it, without a domain: ``63:00.0``."""
    return f"{source >> 8:02x}:{source >> 3 & 0x1F:02x}.{source & 7:x}"
