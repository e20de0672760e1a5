"""What lines of the kernel's log tell of: texts from public reports and the kernel's source."""

import pytest

from pcietune.address import PciAddress
from pcietune.model.kernel_log import LogEvent, LogEventKind, LogLine, Violation, source_text
from pcietune.tune.audit.kernel_log import read_log

PORT = "0000:00:1b.0"


def _read(*texts: str) -> list[LogEvent]:
    return read_log([LogLine(1000 * number, text) for number, text in enumerate(texts)])


@pytest.mark.parametrize(
    ("text", "kind", "address"),
    [
        (
            "pcieport 0000:97:02.0: AER: device recovery failed",
            LogEventKind.NOT_RECOVERED,
            "0000:97:02.0",
        ),
        (
            "pcieport 0015:00:00.0: AER: device recovery successful",
            LogEventKind.RECOVERED,
            "0015:00:00.0",
        ),
        (
            "pcieport 0000:00:1c.0: AER: Root Port link has been reset (0)",
            LogEventKind.LINK_RESET,
            "0000:00:1c.0",
        ),
        (
            "pcieport 0000:00:1b.0: DPC: containment event, status:0x1f01 source:0x0000",
            LogEventKind.CONTAINED,
            PORT,
        ),
        (
            "pcieport 0000:00:1b.0: PCIe Bus Error: severity=Uncorrected (Non-Fatal), id=00d8",
            LogEventKind.ERROR,
            PORT,
        ),
        (
            "pcieport 0000:00:07.1: PCIe Bus Error: severity=Uncorrectable (Fatal), id=0039",
            LogEventKind.ERROR,
            "0000:00:07.1",
        ),
        (
            "pcieport 0000:00:03.1: pciehp: Slot(0-1): Card present",
            LogEventKind.HOT_PLUGGED,
            "0000:00:03.1",
        ),
        (
            "pci 0000:01:00.0: [1002:1478] type 01 class 0x060400 PCIe Switch Upstream Port",
            LogEventKind.ENUMERATED,
            "0000:01:00.0",
        ),
        ("vfio-pci 0000:53:00.0: reset done", LogEventKind.RESET, "0000:53:00.0"),
        (
            "pci 10000:e0:06.0: [8086:9a09] type 01 class 0x060400",
            LogEventKind.ENUMERATED,
            "10000:e0:06.0",
        ),
    ],
)
def test_a_line_tells_what_happened_to_which_function(
    text: str, kind: LogEventKind, address: str
) -> None:
    assert [(e.kind, e.address) for e in _read(text)] == [(kind, PciAddress.parse(address))]


@pytest.mark.parametrize(
    "text",
    [
        "pcieport 0000:00:04.1: pciehp: Slot(0): Link Down",
        "pcieport 0000:00:04.1: pciehp: Slot(272): Link Down/Up ignored (recovered by DPC)",
        "pcieport 0000:89:02.0: AER:    [ 0] RxErr                 ",
        "pcieport 0000:89:02.0: PCIe Bus Error: severity=Corrected, type=Physical Layer",
        "kernel: somebody wrote AER: device recovery failed",
        "DMAR: Invalidation Time-out Error (ITE) cleared",
        "DMAR: VT-d detected Invalidation Time-out Error: SID 12400",  # a Source ID has 16 bits
        "",
    ],
)
def test_other_lines_tell_nothing(text: str) -> None:
    assert _read(text) == []


def test_the_kernel_says_what_its_command_line_made_of_acs_control() -> None:
    [event] = _read("pci 0020:02:00.0: Configured ACS to 0x007b")

    assert (event.kind, event.address, event.word) == (
        LogEventKind.ACS_CONFIGURED,
        PciAddress.parse("0020:02:00.0"),
        0x7B,
    )


def test_a_resume_is_told_by_no_function() -> None:
    assert [event.kind for event in _read("PM: suspend exit")] == [LogEventKind.RESUMED]


def test_a_violation_without_a_header_does_not_tell_what_was_stopped() -> None:
    event = _read(
        f"pcieport {PORT}:   device [8086:06ac] error status/mask=00200000/00010000",
        f"pcieport {PORT}:    [21] ACSViol                (First)",
        f"pcieport {PORT}: AER: broadcast error_detected message",
    )[0]

    assert (event.kind, event.source) == (LogEventKind.ACS_VIOLATION, None)
    assert event.violation is Violation.NOT_TOLD


def test_a_header_of_another_error_is_not_that_of_the_violation() -> None:
    event = _read(
        "pcieport 0000:04:01.0:    [20] UnsupReq               (First)",
        "pcieport 0000:04:01.0:    [21] ACSViol",
        "pcieport 0000:04:01.0: AER:   TLP Header: 34000000 04000052 00000000 00000000",
    )[0]

    assert event.violation is Violation.NOT_TOLD


def test_a_header_of_another_port_or_report_is_not_that_of_the_violation() -> None:
    event = _read(
        f"pcieport {PORT}:    [21] ACSViol                (First)",
        "pcieport 0000:00:1d.0: AER:   TLP Header: 40000001 24000010 00000000 00000000",
        f"pcieport {PORT}: PCIe Bus Error: severity=Uncorrected (Non-Fatal), type=Transaction "
        "Layer, (Receiver ID)",
        f"pcieport {PORT}: AER:   TLP Header: 40000001 24000010 00000000 00000000",
    )[0]

    assert event.violation is Violation.NOT_TOLD


def test_a_message_is_no_request_to_a_peer() -> None:
    [event] = _read(
        "pcieport 0000:00:07.1:    [21] ACSViol                (First)",
        "pcieport 0000:00:07.1: AER:   TLP Header: 0x34000000 0x00000052 0x00000000 0x00000000",
    )

    assert (event.source, event.violation) == (0x0000, Violation.MESSAGE)


def test_a_requester_id_prints_as_lspci_has_addresses() -> None:
    assert source_text(0x6300) == "63:00.0"
    assert source_text(0xAF03) == "af:00.3"
    assert source_text(0x24FF) == "24:1f.7"
