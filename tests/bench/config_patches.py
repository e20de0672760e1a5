"""What is rewritten in a function's configuration space before the guest runs.

Offsets and fields are those of the kernel's include/uapi/linux/pci_regs.h.
"""

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from bench.machine import Acs, Ats, Link, Vfs

_CLASS = 0x09  # three bytes, Revision ID before them
_SUBSYSTEM = 0x2C
_CAPABILITIES = 0x34
_PCI_EXPRESS = 0x10
_DEVICE_CONTROL = 0x08  # 16 bits, from the start of the PCI Express capability
_LINK_CAPABILITIES = 0x0C  # 32 bits
_LINK_STATUS = 0x12  # 16 bits
_LINK_CAPABILITIES_2 = 0x2C  # 32 bits
_RELAXED_ORDERING = 0x0010
_AFTER_RESET = 0x2800  # Device Control: No Snoop, reads of 512 bytes
_LINK_FIELDS = 0x3FF  # speed in bits 3:0, width in bits 9:4, in both registers

_EXTENDED = 0x100
_ACS_ID = 0x000D
_ATS_ID = 0x000F
_SR_IOV_ID = 0x0010
_NEXT_SHIFT = 20  # of the next capability's offset in an extended capability's header
_CONTROL = 0x06  # 16 bits
_ROOM = 0x48  # bytes for the capability before ACS: Advanced Error Reporting is the longest
_ATS_OFFSET = 0x180  # behind SR-IOV, or a VF's Alternative Routing-ID; alone it must be the first

_VF_DEVICE_ID = 0x1A  # 16 bits, from the start of the SR-IOV capability

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


def device_control(config: bytes, *, relaxed: bool) -> list[Patch]:
    """Give an endpoint the Device Control that real ones have after a reset, which QEMU's lack."""
    at = _capability(config, _PCI_EXPRESS) + _DEVICE_CONTROL
    return [Patch(at, struct.pack("<H", _AFTER_RESET | _RELAXED_ORDERING * relaxed))]


def link_capabilities(config: bytes) -> list[Patch]:
    """Give the function the Link Capabilities that ``config`` has."""
    at = _capability(config, _PCI_EXPRESS) + _LINK_CAPABILITIES
    return [Patch(at, config[at : at + 4])]


def acs(wanted: Acs, config: bytes) -> list[Patch]:
    """Give a function its ACS capability, in place of that which it has, or as the last one."""
    writable = wanted.capability if wanted.writable is None else wanted.writable
    offset = _EXTENDED
    links: list[Patch] = []
    if not _has_none(config):
        (*_, (last, _)) = headers = list(_extended_headers(config))
        own = [at for at, header in headers if header & 0xFFFF == _ACS_ID]
        offset = own[0] if own else last + _ROOM
        links = [] if own else _linked(offset, config)
    return [
        *links,
        *_extended_capability(offset, _ACS_ID, wanted.capability, wanted.control, writable),
    ]


def ats(wanted: Ats, config: bytes) -> list[Patch]:
    """Give an endpoint or a virtual function its ATS capability."""
    alone = _has_none(config)
    offset = _EXTENDED if alone else _ATS_OFFSET
    return [
        *([] if alone else _linked(offset, config)),
        *_extended_capability(offset, _ATS_ID, wanted.capability, 0, wanted.writable),
    ]


def vfs(wanted: Vfs, config: bytes) -> list[Patch]:
    """State in the SR-IOV capability which Device ID the virtual functions have."""
    return [
        Patch(sr_iov_offset(config) + _VF_DEVICE_ID, struct.pack("<H", wanted.device)),
    ]


def sr_iov_offset(config: bytes) -> int:
    """Return where the SR-IOV capability starts.

    Raises:
        ValueError: The function has none.
    """
    for offset, header in _extended_headers(config):
        if header & 0xFFFF == _SR_IOV_ID:
            return offset
    raise ValueError("the function has no SR-IOV capability")


def patched(config: bytes, patches: Iterable[Patch]) -> bytes:
    """Return what ``config`` reads as with the patches."""
    data = bytearray(config)
    for patch in patches:
        data[patch.offset : patch.offset + len(patch.data)] = patch.data
    return bytes(data)


def _has_none(config: bytes) -> bool:
    """Return whether the function has no extended capability."""
    return not any(config[_EXTENDED : _EXTENDED + 4])


def _linked(offset: int, config: bytes) -> list[Patch]:
    """Have the last extended capability's header say that another follows at ``offset``."""
    *_, (last, header) = _extended_headers(config)
    return [Patch(last, struct.pack("<I", header | offset << _NEXT_SHIFT))]


def _extended_headers(config: bytes) -> Iterator[tuple[int, int]]:
    """Yield offset and header of each extended capability; QEMU's lists are sound."""
    offset = _EXTENDED
    while offset:
        (header,) = struct.unpack_from("<I", config, offset)
        yield offset, header
        offset = header >> _NEXT_SHIFT


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
