"""A second reading of Configuration Space, from the specification and without pcietune's code.

It is slow and plain: the whole list is walked each time, and what is odd in any way is unreadable.
"""

import struct

EXPRESS = 0x10  # Capability IDs
ACS, ATS = 0x000D, 0x000F  # Extended Capability IDs
CONTROL = 0x06  # of ACS and ATS: the Control Register, 16 bits
ACS_CAPABILITY = 0x04  # 16 bits
DEVICE_CONTROL = 0x08  # of PCI Express, 16 bits

_STATUS = 0x06  # 16 bits
_HAS_LIST = 1 << 4
_POINTER = 0x34  # 8 bits

BITS = {
    "SrcValid": 1 << 0,
    "TransBlk": 1 << 1,
    "ReqRedir": 1 << 2,
    "CmpltRedir": 1 << 3,
    "UpstreamFwd": 1 << 4,
    "EgressCtrl": 1 << 5,
    "DirectTrans": 1 << 6,
}
"""Of ACS Capability and ACS Control, by lspci's names."""

ATS_ENABLE = 1 << 15
RELAXED_ORDERING = 1 << 4  # of Device Control


class UnreadableError(Exception):
    """What cannot be made sense of, whatever it is."""


def capability(data: bytes, wanted: int) -> int | None:
    """Return the offset of a capability; None if there is none.

    Raises:
        UnreadableError: The list is broken.
    """
    if not register(data, _STATUS) & _HAS_LIST:
        return None
    offset, found, passed = _byte(data, _POINTER), None, []
    while offset:
        if offset < 0x40 or offset % 4 or offset in passed or _byte(data, offset) == 0xFF:
            raise UnreadableError(f"capability at {offset:#x}")
        passed.append(offset)
        if _byte(data, offset) == wanted and found is None:
            found = offset
        offset = _byte(data, offset + 1)
    return found


def extended(data: bytes, wanted: int) -> int | None:
    """Return the offset of an Extended Capability; None if there is none.

    Raises:
        UnreadableError: The list is broken.
    """
    if capability(data, EXPRESS) is None or _double_word(data, 0x100) in (0, 0xFFFFFFFF):
        return None
    offset, found, passed = 0x100, None, []
    while offset:
        if offset < 0x100 or offset % 4 or offset in passed:
            raise UnreadableError(f"extended capability at {offset:#x}")
        header = _double_word(data, offset)
        if header in (0, 0xFFFFFFFF):
            raise UnreadableError(f"header at {offset:#x}")
        passed.append(offset)
        if header & 0xFFFF == wanted and found is None:
            found = offset
        offset = header >> 20
    return found


def register(data: bytes, offset: int) -> int:
    """Return the 16-bit register at ``offset``.

    Raises:
        UnreadableError: It is outside, or all ones, which none is that answers.
    """
    word = _word(data, offset)
    if word == 0xFFFF:
        raise UnreadableError(f"all ones at {offset:#x}")
    return word


def acs(data: bytes) -> tuple[int, int] | None:
    """Return ACS Capability and Control; None without ACS; errors as ``register``."""
    offset = extended(data, ACS)
    if offset is None:
        return None
    return register(data, offset + ACS_CAPABILITY), register(data, offset + CONTROL)


def acs_bit_is(data: bytes, name: str, *, on: bool) -> bool:
    """Return whether an ACS control of a port is as wanted, or can do no harm.

    A control that its capability does not offer is hard-wired to 0; where it is one that isolates,
    the port then has nothing to isolate. Errors as ``register``.
    """
    registers = acs(data)
    if registers is None:
        return not on
    offered, enabled = registers
    bit = BITS[name]
    if not on:
        return not enabled & bit
    return bool(enabled & bit) or (name not in ("EgressCtrl", "DirectTrans") and not offered & bit)


def ats_enabled(data: bytes) -> bool:
    """Return whether ATS is there and on; errors as ``register``."""
    offset = extended(data, ATS)
    return offset is not None and bool(register(data, offset + CONTROL) & ATS_ENABLE)


def device_control(data: bytes) -> int:
    """Return Device Control.

    Raises:
        UnreadableError: There is none, or it cannot be read.
    """
    offset = capability(data, EXPRESS)
    if offset is None:
        raise UnreadableError("conventional PCI")
    return register(data, offset + DEVICE_CONTROL)


def max_payload(data: bytes) -> int:
    """Return Max_Payload_Size in bytes; errors as ``device_control``."""
    return 128 << (device_control(data) >> 5 & 0x7)


def _byte(data: bytes, offset: int) -> int:
    return _unpacked("<B", data, offset)


def _word(data: bytes, offset: int) -> int:
    return _unpacked("<H", data, offset)


def _double_word(data: bytes, offset: int) -> int:
    return _unpacked("<I", data, offset)


def _unpacked(form: str, data: bytes, offset: int) -> int:
    try:
        (value,) = struct.unpack_from(form, data, offset)
    except struct.error as error:
        raise UnreadableError(str(error)) from error
    return int(value)
