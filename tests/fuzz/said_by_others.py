"""Any bytes as what other programs print or keep: the kernel's log, mstconfig, libvirt."""

from collections.abc import Iterable
from contextlib import suppress

from fuzz.target import Target

from pcietune.address import PciAddress
from pcietune.errors import ConfigSpaceError
from pcietune.host.domain_xml import given_functions, managed_functions
from pcietune.host.nic_firmware.answer import parse_answer
from pcietune.model.kernel_log import LogEventKind, LogLine, Violation
from pcietune.tune.audit.kernel_log import read_log

_NIC = PciAddress.parse("0000:24:00.0")
_ANSWER = """\
Device:         0000:24:00.0
Configurations:                              Default         Current         Next Boot
*        ATS_ENABLED                         False(0)        False(0)        True(1)
         ADVANCED_PCI_SETTINGS               False(0)        False(0)        False(0)
The '*' shows parameters with next value different from default/current value.
"""
_LOG = """\
pcieport 0000:22:04.0: pciehp: Slot(4): Card present
pcieport 0000:22:04.0:    [21] ACSViol                (First)
pcieport 0000:22:04.0: AER:   TLP Header: 34000000 00000010 00000000 80110000
pci 0000:24:00.0: [15b3:101b] type 00 class 0x020700
DMAR: VT-d detected Invalidation Time-out Error: SID 0
DMAR: QI HEAD: Device-TLB Invalidation qw0 = 0x240000100003, qw1 = 0x1
AMD-Vi: Event logged [IOTLB_INV_TIMEOUT device=63:00.0 address=0x42b5b01a0]
pci 0020:02:00.0: Configured ACS to 0x007b
"""
_VM = """\
<domain><devices><hostdev mode='subsystem' type='pci' managed='yes'><source>
<address domain='0x0000' bus='0x24' slot='0x00' function='0x0'/>
</source></hostdev></devices></domain>"""


def look_at_answer(data: bytes) -> None:
    """Read an answer: nothing is known that it does not say."""
    text = data.decode(errors="replace")
    with suppress(ConfigSpaceError):
        for name, setting in parse_answer(text, _NIC).settings.items():
            assert name in text
            values = (setting.default, setting.current, setting.next_boot)
            assert True not in values or "True(1)" in text
            assert False not in values or "False(0)" in text


def look_at_log(data: bytes) -> None:
    """Read a log: events are of its lines, and numbers have their width."""
    texts = data.decode(errors="replace").split("\n")
    lines = [LogLine(1000 * number, text) for number, text in enumerate(texts)]
    for event in read_log(lines):
        assert event.text in texts
        assert event.source is None or 0 <= event.source <= 0xFFFF
        assert event.word is None or 0 <= event.word <= 0xFFFF
        assert (event.violation is None) == (event.kind is not LogEventKind.ACS_VIOLATION)
        assert event.violation is not Violation.UNNUMBERED or event.source is not None


def look_at_vm(data: bytes) -> None:
    """Read a VM's definition: nothing is managed that it does not call so."""
    with suppress(ValueError):
        managed = managed_functions(data)
        assert not managed or b"managed" in data.replace(b"\0", b"")
        assert managed <= set(given_functions(data))


def answers() -> Iterable[bytes]:
    """Yield an answer."""
    yield _ANSWER.encode()


def logs() -> Iterable[bytes]:
    """Yield a log."""
    yield _LOG.encode()


def vms() -> Iterable[bytes]:
    """Yield a definition."""
    yield _VM.encode()


FIRMWARE_ANSWERS = Target(look_at_answer, answers, longest=2048)
KERNEL_LOGS = Target(look_at_log, logs, longest=2048)
VM_DEFINITIONS = Target(look_at_vm, vms, longest=2048)
