"""What is remembered of a port from one look to the next."""

import re
from dataclasses import dataclass

from pcietune.model.access import HostAccess
from pcietune.model.function import PciFunction
from pcietune.registers.acs import Acs, AcsControl
from pcietune.tune.audit.audit import Audit
from pcietune.tune.vfio_use import ISOLATION

_SUSPENDED_TIME = "power/runtime_suspended_time"  # milliseconds: Documentation/ABI, devices-power
_ERRORS = {  # Documentation/ABI/testing/sysfs-bus-pci-devices-aer, 4.19 and later
    "aer_dev_fatal": re.compile(r"^TOTAL_ERR_FATAL (\d+)$", re.MULTILINE),
    "aer_dev_nonfatal": re.compile(r"^TOTAL_ERR_NONFATAL (\d+)$", re.MULTILINE),
}


@dataclass(frozen=True, slots=True)
class Sight:
    """A port whose ACS could be read, and what tells of what happens to it.

    Attributes:
        port: The port.
        group: Name of its switch group.
        offset: Of ACS Control, in bytes.
        supported: Controls that it offers.
        control: ACS Control, all 16 bits.
        slept_ms: How long it has slept in all, in milliseconds; None if not known.
        errors: How many uncorrectable errors AER counted at it and at the ports above it; None if
            nowhere known.
    """

    port: PciFunction
    group: str
    offset: int
    supported: AcsControl
    control: int
    slept_ms: int | None
    errors: int | None

    @property
    def by_the_kernel(self) -> bool:
        """Whether it reads as the kernel leaves a port that was reset (pci_std_enable_acs)."""
        return self.control == (self.supported & ISOLATION).value


def sights(host: HostAccess, audited: Audit) -> dict[str, Sight]:
    """Return all ports that could be read, by location; costs no configuration cycle."""
    found: dict[str, Sight] = {}
    for bit in audited.bits:
        port = bit.requirement.placed.port
        if bit.acs is not None and port.location not in found:
            found[port.location] = _sight(host, audited, bit.requirement.group.name, port, bit.acs)
    return found


def _sight(host: HostAccess, audited: Audit, group: str, port: PciFunction, acs: Acs) -> Sight:
    counts = [_errors(host, one) for one in (*audited.fabric.ports_above(port), port)]
    known = [count for count in counts if count is not None]
    return Sight(
        port=port,
        group=group,
        offset=acs.control_offset,
        supported=acs.supported,
        control=acs.control,
        slept_ms=_number(host.attribute_again(port, _SUSPENDED_TIME)),
        errors=sum(known) if known else None,
    )


def _errors(host: HostAccess, port: PciFunction) -> int | None:
    texts = [(host.attribute_again(port, name) or "", total) for name, total in _ERRORS.items()]
    counts = [found for text, total in texts if (found := total.search(text))]
    return sum(int(count[1]) for count in counts) if counts else None


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() and text.isascii() else None
