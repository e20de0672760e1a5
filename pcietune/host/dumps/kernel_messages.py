"""Takes from a kernel's log what tells of the host: release, arguments and IOMMU groups."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from pcietune.address import PciAddress
from pcietune.host.dumps.text_lines import Line, Place

_DATE = r"(?:[A-Z][a-z]{2} +[0-9]{1,2} [0-9:]{8}|[0-9]{4}-[0-9]{2}-[0-9]{2}[T ]\S+)"
# dmesg, with -T, -x and --raw; journalctl and syslog, which put date, host and `kernel:` before it
_STAMP = re.compile(
    rf"(?:{_DATE} \S+ kernel: )?(?:<[0-9]{{1,3}}>|kern +:\w+ *: )?"
    r"(?:\[ *[0-9]+\.[0-9]{6}\](?:\[ *[TC][0-9]+\])? ?"
    r"|\[[A-Z][a-z]{2} [A-Z][a-z]{2} [^\]]{9,20}\] )?"
)
_ADDRESS = r"([0-9a-f]{4,8}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7])"
# drivers/iommu/iommu.c: since 5.3 of the device, before that of "iommu"
_JOINED = re.compile(rf"\S+ {_ADDRESS}: Adding to iommu group ([0-9]{{1,9}})")
_JOINED_BEFORE = re.compile(rf"iommu: Adding device {_ADDRESS} to group ([0-9]{{1,9}})")
_LEFT = re.compile(
    rf"(?:\S+ {_ADDRESS}: Removing from iommu|iommu: Removing device {_ADDRESS} from) group [0-9]+"
)
_RELEASE = re.compile(r"Linux version ([0-9]+\.[0-9]+[\w.+~-]*)\b.*", re.ASCII)
_COMMAND_LINE = re.compile(r"(Kernel command|Command) line: (.*)")  # x86 has both, early and late
_OTHER = re.compile(
    rf"(?:(?:pci|pcieport|vfio-pci|nvidia|mlx5_core|iommu) {_ADDRESS}: |DMAR: |DMAR-IR: |AMD-Vi: "
    r"|iommu: Default domain type: |pci_bus [0-9a-f]{4,8}:[0-9a-f]{2}: )"
)
_ONE_BOOT = "keep one boot of it: journalctl -k -b, or dmesg"


@dataclass(slots=True)
class KernelMessages:
    """What a kernel's log tells of the host, at its end.

    Attributes:
        release: The kernel's; None if not told.
        cmdline: The kernel's; None if not told.
        groups: Number of the IOMMU group of each function that joined one and did not leave it.
        places: Where each is told.
    """

    release: str | None = None
    cmdline: str | None = None
    groups: dict[PciAddress, int] = field(default_factory=dict)
    places: dict[PciAddress, Place] = field(default_factory=dict)

    @property
    def tells(self) -> bool:
        """Whether there is anything in it that is taken."""
        return bool(self.groups) or self.release is not None or self.cmdline is not None


def is_kernel_message(line: str) -> bool:
    """Return whether a line is one of a kernel's log, by its stamp or by what it says."""
    stamp = _STAMP.match(line)
    text = line[stamp.end() :] if stamp else line
    return bool(text) and (text != line or _says_something(text))


def read_kernel_messages(lines: Iterable[Line], source: str) -> KernelMessages:
    """Return what the log called ``source`` tells; what else is in it is left out.

    Raises:
        BadInputError: It is of two boots.
    """
    found = KernelMessages()
    for number, text in _whole(lines):
        place = Place(source, number)
        if joined := _JOINED.fullmatch(text) or _JOINED_BEFORE.fullmatch(text):
            address = PciAddress.parse(joined[1])
            found.groups[address] = int(joined[2])
            found.places[address] = place
        elif left := _LEFT.fullmatch(text):
            found.groups.pop(PciAddress.parse(left[1] or left[2]), None)
        elif release := _RELEASE.fullmatch(text):
            if found.release is not None:
                raise place.refused("a second boot begins here in the kernel's log", hint=_ONE_BOOT)
            found.release = release[1]
        elif told := _COMMAND_LINE.fullmatch(text):
            late = told[1].startswith("Kernel")
            found.cmdline = told[2] if late or found.cmdline is None else found.cmdline
    return found


def _whole(lines: Iterable[Line]) -> Iterable[Line]:
    """Yield messages without stamps; a line that lacks one where others have it goes on."""
    before: Line | None = None
    stamped = False
    for number, line in lines:
        stamp = _STAMP.match(line)
        text = line[stamp.end() :] if stamp else line
        stamped = stamped or text != line
        if before is not None and text == line and text and (stamped or not _begins(text)):
            before = (before[0], f"{before[1]} {text.strip()}")
            continue
        if before is not None:
            yield before
        before = (number, text)
    if before is not None:
        yield before


def _begins(text: str) -> bool:
    """Return whether a line without a stamp begins a message: one says of what it is."""
    return _says_something(text) or re.match(r"[\w.() -]{2,40}: ", text) is not None


def _says_something(text: str) -> bool:
    forms = (_JOINED, _JOINED_BEFORE, _LEFT, _RELEASE, _COMMAND_LINE)
    return _OTHER.match(text) is not None or any(form.fullmatch(text) for form in forms)
