"""What is rewritten in a function's configuration space before the guest runs.

Offsets and fields are those of the kernel's include/uapi/linux/pci_regs.h.
"""

import struct
from dataclasses import dataclass

from bench.machine import Acs, Ats, Link

_CLASS = 0x09  # three bytes, Revision ID before them
_SUBSYSTEM = 0x2C
_CAPABILITIES = 0x34
_PCI_EXPRESS = 0x10
_LINK_CAPABILITIES = 0x0C  # 32 bits, from the start of the PCI Express capability
_LINK_STATUS = 0x12  # 16 bits
_LINK_CAPABILITIES_2 = 0x2C  # 32 bits
_LINK_FIELDS = 0x3FF  # speed in bits 3:0, width in bits 9:4, in both registers

_EXTENDED = 0x100
_ACS_ID = 0x000D
_ATS_ID = 0x000F
_CONTROL = 0x06  # 16 bits
ACS_OFFSET = 0x148  # behind Advanced Error Reporting, the only one QEMU's ports have

_SPEED_CODES = {2.5: 1, 5: 2, 8: 3, 16: 4, 32: 5, 64: 6}  # GT/s


@dataclass(frozen=True, slots=True)
class Patch:
    """Bytes to store in a configuration space.

    Attributes:
        offset: Of the first byte.
        data: What they read as from now on.
        writable: The bits that take a write, as long as ``data``; None: as before.
    """

    offset: int
    data: bytes
    writable: bytes | None = None


def identity(vendor_and_device: str) -> list[Patch]:
    """Give the function the Vendor and Device ID that lspci -n prints as ``vvvv:dddd``."""
    return [Patch(0, _ids(vendor_and_device))]


def subsystem(vendor_and_device: str) -> list[Patch]:
    """Give an endpoint its Subsystem Vendor ID and Subsystem ID."""
    return [Patch(_SUBSYSTEM, _ids(vendor_and_device))]


def class_code(code: int) -> list[Patch]:
    """Give the function its 24-bit class code."""
    return [Patch(_CLASS, code.to_bytes(3, "little"))]


def link(wanted: Link, config: bytes) -> list[Patch]:
    """Give the function's link its speed and width; ``config`` is what QEMU made."""
    express = _capability(config, _PCI_EXPRESS)
    current = _link_fields(wanted.speed, wanted.width)
    most = _link_fields(wanted.max_speed or wanted.speed, wanted.max_width or wanted.width)
    (capabilities,) = struct.unpack_from("<I", config, express + _LINK_CAPABILITIES)
    (status,) = struct.unpack_from("<H", config, express + _LINK_STATUS)
    speeds = (1 << (most & 0xF) + 1) - 2  # Supported Link Speeds Vector, bit 1 is 2.5 GT/s
    return [
        Patch(express + _LINK_CAPABILITIES, struct.pack("<I", capabilities & ~_LINK_FIELDS | most)),
        Patch(express + _LINK_STATUS, struct.pack("<H", status & ~_LINK_FIELDS | current)),
        Patch(express + _LINK_CAPABILITIES_2, struct.pack("<I", speeds)),
    ]


def acs(wanted: Acs, config: bytes) -> list[Patch]:
    """Put an ACS capability behind a port's Advanced Error Reporting."""
    (first,) = struct.unpack_from("<I", config, _EXTENDED)
    writable = wanted.capability if wanted.writable is None else wanted.writable
    return [
        Patch(_EXTENDED, struct.pack("<I", first & 0xFFFFF | ACS_OFFSET << 20)),
        *_extended_capability(ACS_OFFSET, _ACS_ID, wanted.capability, wanted.control, writable),
    ]


def ats(wanted: Ats, config: bytes) -> list[Patch]:
    """Give an endpoint its ATS capability, the only extended one it then has.

    Raises:
        ValueError: QEMU's device has extended capabilities already.
    """
    if any(config[_EXTENDED : _EXTENDED + 4]):
        raise ValueError("the endpoint has an extended capability already")
    return _extended_capability(_EXTENDED, _ATS_ID, wanted.capability, 0, wanted.writable)


def _extended_capability(
    offset: int, identifier: int, capability: int, control: int, writable: int
) -> list[Patch]:
    """Version 1, the last in the list, and one 16-bit register of each kind."""
    return [
        Patch(offset, struct.pack("<IH", 1 << 16 | identifier, capability)),
        Patch(offset + _CONTROL, struct.pack("<H", control), struct.pack("<H", writable)),
    ]


def _ids(text: str) -> bytes:
    vendor, device = text.split(":")
    return struct.pack("<HH", int(vendor, 16), int(device, 16))


def _link_fields(speed: float, width: int) -> int:
    return _SPEED_CODES[speed] | width << 4


def _capability(config: bytes, identifier: int) -> int:
    """Return where the conventional capability starts; QEMU's lists are sound."""
    offset = config[_CAPABILITIES]
    while config[offset] != identifier:
        offset = config[offset + 1]
    return offset
