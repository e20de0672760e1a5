"""The walks of the Capability and the Extended Capability list (PCI_CAP_*, pci_regs.h).

Pointers may go backwards: PLX 8725 and 8749 ports chain 0x100, 0xfb4, 0x138, ... An offset seen
twice, one that is unaligned or too low, or one that does not answer is an error that says where.
"""

import enum

from pcietune.errors import ConfigSpaceError
from pcietune.registers.config_space import CONVENTIONAL_SIZE, ConfigSpace, does_not_answer
from pcietune.registers.fields import BitField

_STATUS = 0x06  # 16 bits; ffffh only where no function answers, since some bits are reserved
_HAS_CAPABILITY_LIST = BitField(4)
_CAPABILITIES_POINTER = 0x34  # 8 bits
_FIRST_CAPABILITY = 0x40  # the header ends here
_NO_ID = 0xFF  # Linux's pci_find_capability stops at it too

_FIRST_EXTENDED = CONVENTIONAL_SIZE
_ID = BitField(0, 16)
_VERSION = BitField(16, 4)
_NEXT = BitField(20, 12)
_ALIGNMENT = 4  # bytes; the specification reserves the pointers' bits 1:0 as 0


class CapabilityId(enum.IntEnum):
    """Capability IDs that pcietune knows, 8 bits; others stay plain integers."""

    VITAL_PRODUCT_DATA = 0x03
    VENDOR_SPECIFIC = 0x09
    PCI_EXPRESS = 0x10


class ExtendedCapabilityId(enum.IntEnum):
    """Extended Capability IDs that pcietune knows, 16 bits; others stay plain integers."""

    NULL = 0x0000
    ADVANCED_ERROR_REPORTING = 0x0001
    DEVICE_SERIAL_NUMBER = 0x0003
    ACS = 0x000D
    ATS = 0x000F
    SR_IOV = 0x0010


class Capability:
    """Where one capability of either list stands.

    Attributes:
        id: Capability ID (8 bits) or Extended Capability ID (16 bits).
        version: Of an Extended Capability; 0 for the others, which have none here.
        offset: Of its header, in bytes from the start of Configuration Space.
    """

    __slots__ = ("id", "offset", "version")

    id: int
    version: int
    offset: int

    def __init__(self, id: int, version: int, offset: int) -> None:  # noqa: A002 -- its name in the specification
        self.id = id
        self.version = version
        self.offset = offset


def capabilities(config: ConfigSpace) -> list[Capability]:
    """Return the function's capabilities in list order.

    Raises:
        ConfigSpaceError: The function does not answer, or its list is broken at the named offset.
        NotPermittedError: The kernel keeps the list from this user.
    """
    if not _HAS_CAPABILITY_LIST.get(config.read_word(_STATUS)):
        return []
    found: list[Capability] = []
    seen: set[int] = set()
    offset = config.read(_CAPABILITIES_POINTER, 1)
    if offset == 0xFF:
        _check_that_it_answers(config)
    while offset:
        _check_pointer(config, "Capability", offset, _FIRST_CAPABILITY, seen)
        header = config.read(offset, 2)
        if header & 0xFF == _NO_ID:
            _check_that_it_answers(config)
            raise _broken(config, "Capability", offset, "has ID ffh, which is none")
        found.append(Capability(header & 0xFF, 0, offset))
        offset = header >> 8
    return found


def extended_capabilities(config: ConfigSpace) -> list[Capability]:
    """Return the function's Extended Capabilities in list order.

    There are none without a PCI Express capability (some conventional bridges mirror their header
    at 0x100), nor where the first header is 0, or all ones though the function answers. Null
    capabilities (ID 0 with a next pointer) are passed over.

    Raises:
        ConfigSpaceError: The function does not answer, has no Extended Configuration Space that
            the kernel can reach, or its list is broken at the named offset.
        NotPermittedError: The kernel keeps the list from this user.
    """
    if find_capability(config, CapabilityId.PCI_EXPRESS) is None:
        return []
    if config.size <= CONVENTIONAL_SIZE:
        raise ConfigSpaceError(
            f"{config.address}: the kernel reaches only {config.size} bytes, "
            "no Extended Configuration Space",
            hint="ECAM (MMCONFIG) is missing or a conventional bridge is in the way; see dmesg",
        )
    found: list[Capability] = []
    seen: set[int] = set()
    offset = _FIRST_EXTENDED
    while offset:
        _check_pointer(config, "Extended Capability", offset, _FIRST_EXTENDED, seen)
        header = config.read(offset, 4)
        if header == 0xFFFFFFFF:
            _check_that_it_answers(config)
            if offset == _FIRST_EXTENDED:
                return []
            raise _broken(config, "Extended Capability", offset, "reads as all ones")
        if header == 0 and offset != _FIRST_EXTENDED:
            raise _broken(config, "Extended Capability", offset, "is cut off: the header is 0")
        if _ID.get(header) != ExtendedCapabilityId.NULL:
            found.append(Capability(_ID.get(header), _VERSION.get(header), offset))
        offset = _NEXT.get(header)
    return found


def find_capability(config: ConfigSpace, wanted: CapabilityId) -> Capability | None:
    """Return the first capability with this ID, or None; same errors as ``capabilities``."""
    return next((found for found in capabilities(config) if found.id == wanted), None)


def find_extended(config: ConfigSpace, wanted: ExtendedCapabilityId) -> Capability | None:
    """Return the first with this ID, or None; same errors as ``extended_capabilities``."""
    return next((found for found in extended_capabilities(config) if found.id == wanted), None)


def _check_that_it_answers(config: ConfigSpace) -> None:
    """Tell a register that is all ones from a function that is gone.

    By Status and not by Vendor ID, which is ffffh in every virtual function.
    """
    if config.read_again(_STATUS, 2) == 0xFFFF:
        raise does_not_answer(config.address)


def _check_pointer(
    config: ConfigSpace, kind: str, offset: int, lowest: int, seen: set[int]
) -> None:
    """Add ``offset`` to ``seen`` unless no capability can stand there."""
    if offset < lowest:
        raise _broken(config, kind, offset, f"lies below {lowest:#05x}")
    if offset % _ALIGNMENT:
        raise _broken(config, kind, offset, "is not aligned to 4 bytes")
    if offset in seen:
        raise _broken(config, kind, offset, "loops")
    seen.add(offset)


def _broken(config: ConfigSpace, kind: str, offset: int, what: str) -> ConfigSpaceError:
    return ConfigSpaceError(
        f"{config.address}: the {kind} list is broken: at {offset:#05x} it {what}",
        hint="compare with lspci -xxxx; a firmware update of the device may be due",
    )
