"""Public reports that quote the kernel's log, each with its verdict."""

import pytest

from pcietune.address import PciAddress
from pcietune.model.kernel_log import LogEvent, LogEventKind, LogLine, Violation, source_text
from pcietune.tune.audit.kernel_log import read_log

PORT = "0000:22:04.0"
VIOLATION = (
    f"pcieport {PORT}: PCIe Bus Error: severity=Uncorrected (Non-Fatal), id=2220(Receiver ID)",
    f"pcieport {PORT}:   device [1000:c010] error status/mask=00200000/00000000",
    f"pcieport {PORT}:    [21] ACSViol                (First)",
)
MESSAGE_OF_BUS_00 = f"pcieport {PORT}: AER:   TLP Header: 34000000 00000010 00000000 80110000"
WRITE_OF_24_00_0 = f"pcieport {PORT}: AER:   TLP Header: 60000020 240000ff 0000383f e0000000"
WRITE_OF_BUS_00 = f"pcieport {PORT}: AER:   TLP Header: 60000020 000000ff 0000383f e0000000"
SECOND_US = 1_000_000


def _at(second: int, *texts: str) -> list[LogLine]:
    return [LogLine(second * SECOND_US + number, text) for number, text in enumerate(texts)]


def _violation(lines: list[LogLine]) -> LogEvent:
    [event] = [e for e in read_log(lines) if e.kind is LogEventKind.ACS_VIOLATION]
    return event


# "PCI: Don't disable SV on hot-remove" (linux-pci; B17): a device that has no number yet says 00.


def test_a_message_from_bus_00_right_after_a_hot_plug_is_harmless() -> None:
    lines = [
        *_at(100, f"pcieport {PORT}: pciehp: Slot(4): Card present"),
        *_at(101, *VIOLATION, MESSAGE_OF_BUS_00),
        *_at(102, "pci 0000:24:00.0: [15b3:101b] type 00 class 0x020700"),
    ]

    event = _violation(lines)

    assert (event.address, event.source) == (PciAddress.parse(PORT), 0)
    assert event.violation is Violation.UNNUMBERED


def test_a_message_from_bus_00_long_after_is_not_explained_by_the_hot_plug() -> None:
    lines = [
        *_at(100, f"pcieport {PORT}: pciehp: Slot(4): Card present"),
        *_at(200, *VIOLATION, WRITE_OF_BUS_00),
    ]

    assert _violation(lines).violation is Violation.PEER_REQUEST


def test_a_hot_plug_in_another_domain_explains_nothing() -> None:
    lines = [
        *_at(100, "pcieport 0001:22:04.0: pciehp: Slot(4): Card present"),
        *_at(101, *VIOLATION, WRITE_OF_BUS_00),
    ]

    assert _violation(lines).violation is Violation.PEER_REQUEST


def test_a_request_of_a_numbered_function_is_one_to_a_peer_even_right_after_a_hot_plug() -> None:
    lines = [
        *_at(100, f"pcieport {PORT}: pciehp: Slot(4): Link Up"),
        *_at(101, *VIOLATION, WRITE_OF_24_00_0),
    ]

    event = _violation(lines)

    assert event.violation is Violation.PEER_REQUEST
    assert event.source is not None
    assert source_text(event.source) == "24:00.0"


# RK3588 as an endpoint (linux-pci; D04): it answers no invalidation, so its ATS is broken.


def _timeout(*texts: str) -> LogEvent:
    [event] = read_log(_at(1, *texts))
    assert event.kind is LogEventKind.INVALIDATION_TIMEOUT
    return event


def test_an_intel_host_tells_a_time_out_without_the_function() -> None:
    event = _timeout("DMAR: VT-d detected Invalidation Time-out Error: SID 0")

    assert (event.address, event.source) == (None, None)


def test_an_amd_host_tells_the_function_that_timed_out() -> None:
    event = _timeout(
        "iommu ivhd0: AMD-Vi: Event logged [IOTLB_INV_TIMEOUT device=63:00.0 address=0x42b5b01a0]"
    )

    assert event.address is None  # the domain is not told
    assert event.source is not None
    assert source_text(event.source) == "63:00.0"


def test_a_later_amd_kernel_tells_the_domain_too() -> None:
    event = _timeout(
        "AMD-Vi: Event logged [IOTLB_INV_TIMEOUT device=0001:06:00.0 address=0x1001e4600]"
    )

    assert event.address == PciAddress.parse("0001:06:00.0")


@pytest.mark.parametrize(
    ("queue", "function"),
    [
        ("HEAD: Device-TLB Invalidation qw0 = 0xaf0300100003, qw1 = 0x7ffffffffffff001", "af:00.3"),
        ("PRIOR: Device-TLB Invalidation qw0 = 0x5300530000000003, qw1 = 0x1", "53:00.0"),
        ("HEAD: PASID-based Device-TLB Invalidation qw0 = 0x24000018, qw1 = 0x1", "24:00.0"),
    ],
)
def test_the_invalidation_queue_of_an_intel_host_tells_the_function(
    queue: str, function: str
) -> None:
    event = _timeout(
        "DMAR: VT-d detected Invalidation Time-out Error: SID 0",
        "DMAR: DRHD: handling fault status reg 40",
        f"DMAR: QI {queue}",
    )

    assert event.source is not None
    assert source_text(event.source) == function


def test_an_intel_unit_that_does_not_answer_itself_accuses_no_function() -> None:
    lines = _at(
        1,
        "DMAR: VT-d detected Invalidation Queue Error: Reason f",
        "DMAR: VT-d detected Invalidation Time-out Error: SID ffff",
        "DMAR: VT-d detected Invalidation Completion Error: SID ffff",
        "DMAR: QI HEAD: UNKNOWN qw0 = 0x0, qw1 = 0x0",
    )

    assert read_log(lines) == []


def test_an_arm_host_tells_a_time_out_without_the_function() -> None:
    event = _timeout(
        "arm-smmu-v3 arm-smmu-v3.0.auto: CMDQ error (cons 0x03000a1c): ATC invalidate timeout"
    )

    assert (event.address, event.source) == (None, None)
