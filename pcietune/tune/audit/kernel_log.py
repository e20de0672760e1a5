"""Read the kernel's log: which lines tell of broken ATS, of stopped packets and of lost registers.

The texts are those of drivers/pci/pcie/aer.c, err.c and dpc.c, drivers/pci/hotplug/pciehp_ctrl.c,
drivers/pci/probe.c and pci.c, drivers/iommu/intel/dmar.c, drivers/iommu/amd/iommu.c and
drivers/iommu/arm/arm-smmu-v3/arm-smmu-v3.c, from 5.4 to 6.18.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from pcietune.address import PciAddress
from pcietune.model.kernel_log import LogEvent, LogEventKind, LogLine, Violation

_CONCERNS_US = re.compile(
    r"AER|PCIe Bus Error|\[21\]|DPC: cont|pciehp|type 0[01] class|Configured ACS|reset done"
    r"|Invalidation Time-out|IOTLB_INV_TIMEOUT|ATC invalidate|suspend exit"
)
_OF_A_FUNCTION = re.compile(r"\S+ ([\da-f]{4,8}:[\da-f]{2}:[01][\da-f]\.[0-7]): (?:AER: *)?(.*)")
_KINDS = (
    (re.compile(r"device recovery successful"), LogEventKind.RECOVERED),
    (re.compile(r"device recovery failed"), LogEventKind.NOT_RECOVERED),
    (re.compile(r"(?:Root|Downstream) Port link has been reset"), LogEventKind.LINK_RESET),
    (re.compile(r"PCIe Bus Error: severity=Uncorrect"), LogEventKind.ERROR),
    (re.compile(r"DPC: containment event"), LogEventKind.CONTAINED),
    (re.compile(r"pciehp: Slot\(.*\): (?:Card present|Link Up)$"), LogEventKind.HOT_PLUGGED),
    (re.compile(r"\[[\da-f]{4}:[\da-f]{4}\] type 0[01] class "), LogEventKind.ENUMERATED),
    (re.compile(r"reset done$"), LogEventKind.RESET),
)
_CONFIGURED = re.compile(r"Configured ACS to 0x([\da-f]{1,4})$")

_ACS_VIOLATION = re.compile(r" *\[21\] \S.*")  # bit 21 of Uncorrectable Error Status
_FIRST = "(First)"  # the header in the log is that of the first error
_ANOTHER_REPORT = re.compile(r"PCIe Bus Error|aer_status")
_HEADER = re.compile(r" *TLP Header: ((?:0x)?[\da-f]{8}) ((?:0x)?[\da-f]{8}) ")
_LINES_OF_A_REPORT = 12
_TYPE_OF_MESSAGES = 0x10  # Type 10rrrb; r is how it is routed (PCIe 2.2.1)
_MASK_OF_MESSAGES = 0x18
_RIGHT_AFTER_US = 10_000_000
_GIVES_NUMBERS = (LogEventKind.HOT_PLUGGED, LogEventKind.ENUMERATED)

_INTEL = re.compile(r"DMAR: VT-d detected Invalidation Time-out Error: SID ([\da-f]{1,4})\b")
_INTEL_QUEUE = re.compile(
    r"DMAR: QI (?:HEAD|PRIOR): (PASID-based )?Device-TLB Invalidation qw0 = 0x([\da-f]{1,16})"
)
_LINES_OF_A_QUEUE = 4
_NOT_TOLD = 0x0000  # by units that do not report which function it was
_ALL_ONES = 0xFFFF  # the unit itself does not answer, as while a VMD is reset
_AMD = re.compile(
    r"IOTLB_INV_TIMEOUT device=(?:([\da-f]{4,8}):)?([\da-f]{2}):([01][\da-f])\.([0-7])"
)
_ARM = "ATC invalidate timeout"
_RESUMED = "PM: suspend exit"


def read_log(lines: Sequence[LogLine]) -> list[LogEvent]:
    """Return what these lines tell of, in their order; all other lines are passed over."""
    events: list[LogEvent] = []
    for number, line in enumerate(lines):
        if not _CONCERNS_US.search(line.text):
            continue
        following = [f.text for f in lines[number + 1 : number + 1 + _LINES_OF_A_REPORT]]
        event = _of_an_iommu(line, following) or _of_a_function(line, following)
        if event is not None:
            events.append(event)
    return [_with_verdict(event, events) for event in events]


def _of_a_function(line: LogLine, following: Sequence[str]) -> LogEvent | None:
    if line.text == _RESUMED:
        return LogEvent(LogEventKind.RESUMED, line.at_us, line.text)
    match = _OF_A_FUNCTION.fullmatch(line.text)
    if match is None:
        return None
    address, said = PciAddress.parse(match[1]), match[2]
    for pattern, kind in _KINDS:
        if pattern.search(said):
            return LogEvent(kind, line.at_us, line.text, address)
    if configured := _CONFIGURED.fullmatch(said):
        kind, word = LogEventKind.ACS_CONFIGURED, int(configured[1], 16)
        return LogEvent(kind, line.at_us, line.text, address, word=word)
    if not _ACS_VIOLATION.fullmatch(said):
        return None
    header = _header(address, following) if _FIRST in said else None
    return LogEvent(
        LogEventKind.ACS_VIOLATION,
        line.at_us,
        line.text,
        address,
        source=None if header is None else header[1] >> 16,
        violation=Violation.NOT_TOLD if header is None else _stopped(header[0]),
    )


def _header(address: PciAddress, following: Sequence[str]) -> tuple[int, int] | None:
    """Return the first two words of the packet's header; None if this report has none.

    That of Flit Mode has another form, and another text, so it is none.
    """
    for said in _said_of(address, following):
        if _ANOTHER_REPORT.search(said):
            return None
        if match := _HEADER.match(said):
            return int(match[1], 16), int(match[2], 16)
    return None


def _said_of(address: PciAddress, lines: Sequence[str]) -> Iterator[str]:
    for text in lines:
        match = _OF_A_FUNCTION.fullmatch(text)
        if match is not None and PciAddress.parse(match[1]) == address:
            yield match[2]


def _stopped(first_word: int) -> Violation:
    message = first_word >> 24 & _MASK_OF_MESSAGES == _TYPE_OF_MESSAGES
    return Violation.MESSAGE if message else Violation.PEER_REQUEST


def _with_verdict(event: LogEvent, events: Sequence[LogEvent]) -> LogEvent:
    """Return the event; a violation is harmless if the sender could not know its bus number.

    A function takes it from the first configuration write, and is on bus 00 until then.
    """
    if event.source is None or event.source >> 8 or event.violation is None:
        return event
    for other in events:
        near = abs(other.at_us - event.at_us) <= _RIGHT_AFTER_US
        if other.kind in _GIVES_NUMBERS and near and _same_domain(other, event):
            return replace(event, violation=Violation.UNNUMBERED)
    return event


def _same_domain(one: LogEvent, other: LogEvent) -> bool:
    return (
        one.address is not None
        and other.address is not None
        and one.address.domain == other.address.domain
    )


def _of_an_iommu(line: LogLine, following: Sequence[str]) -> LogEvent | None:
    """Return that a function did not answer an invalidation; None if the line tells of none."""
    timeout = LogEvent(LogEventKind.INVALIDATION_TIMEOUT, line.at_us, line.text)
    if match := _AMD.search(line.text):
        domain, bus, device, function = (int(digits or "0", 16) for digits in match.groups())
        if match[1] is not None:
            return replace(timeout, address=PciAddress(domain, bus, device, function))
        return replace(timeout, source=bus << 8 | device << 3 | function)
    if match := _INTEL.search(line.text):
        source = int(match[1], 16)
        if source == _ALL_ONES:
            return None
        return replace(timeout, source=_queued(following) if source == _NOT_TOLD else source)
    return timeout if _ARM in line.text else None


def _queued(following: Sequence[str]) -> int | None:
    """Return for which function an invalidation was in Intel's queue; None if that is not told.

    Its Source ID is in bits 47:32 of the descriptor, of one with PASID in bits 31:16
    (drivers/iommu/intel/iommu.h, QI_DEV_IOTLB_SID and QI_DEV_EIOTLB_SID).
    """
    for text in following[:_LINES_OF_A_QUEUE]:
        if match := _INTEL_QUEUE.search(text):
            return int(match[2], 16) >> (16 if match[1] else 32) & 0xFFFF
    return None
