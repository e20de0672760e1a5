"""Makes the bytes of one function of what ``lspci -vvv`` prints of it."""

import re
from collections.abc import Sequence

from pcietune.host.dumps.verbose.capability_text import (
    put_acs,
    put_ats,
    put_express,
    put_sriov,
)
from pcietune.host.dumps.verbose.told import Told
from pcietune.host.recordings.manifest import UnreadConfig
from pcietune.registers.capability_list import CapabilityId, ExtendedCapabilityId
from pcietune.registers.config_space import CONVENTIONAL_SIZE
from pcietune.registers.express import PortType

_CAPABILITY = re.compile(r"\s+Capabilities: \[([0-9a-f]{2,3})(?: v(\d+))?\] (.*)")
_DENIED = re.compile(r"\s+Capabilities: <access denied>")
_FLAGS = re.compile(r"\s+(?:Flags|Control|Status): .*")
_NO_ANSWER = re.compile(r"\s+!!! Unknown header type [0-9a-f]+")
_BUSES = re.compile(r"\s+Bus: primary=(\w\w), secondary=(\w\w), subordinate=(\w\w), .*")
_SUBSYSTEM = re.compile(r"\s+Subsystem: (?:.*\[)?([0-9a-f]{4}):([0-9a-f]{4})\]?.*")
_REVISION = re.compile(r"\(rev ([0-9a-f]{2})\)")
_INTERFACE = re.compile(r"\(prog-if ([0-9a-f]{2})")
_CARDBUS, _INTEL, _NO_ID = 0x0607, 0x8086, 0xFFFF
_NAMES = {
    "Access Control Services": ExtendedCapabilityId.ACS,
    "Address Translation Service (ATS)": ExtendedCapabilityId.ATS,
    "Single Root I/O Virtualization (SR-IOV)": ExtendedCapabilityId.SR_IOV,
    "Advanced Error Reporting": ExtendedCapabilityId.ADVANCED_ERROR_REPORTING,
}
_REASON = "text without bytes does not tell it, or only lspci -vvv does"
_BROKEN = "lspci found the list of capabilities broken"
_NO_EXTENDED = "lspci printed no Extended Capability: there is none, or it could not read any"


def registers_of(
    first: str, lines: Sequence[str], printed: tuple[int, int, int]
) -> tuple[bytearray, UnreadConfig] | None:
    """Return a function's bytes as far as they are told, and what is not.

    Args:
        first: The line with its address.
        lines: All that are printed below it.
        printed: Class (16 bits), Vendor and Device ID; ffff where not told.

    Returns:
        None if these are no lines of ``lspci -v``.
    """
    if any(_NO_ANSWER.fullmatch(line) for line in lines):
        absent = Told("it does not answer")
        absent.data[:] = b"\xff" * len(absent.data)
        return absent.data, absent.unread()
    if not any(_FLAGS.fullmatch(line) for line in lines):
        return None
    told = Told(_REASON)
    _put_header(told, first, lines, printed)
    _put_capabilities(told, lines, printed[1])
    return told.data, told.unread()


def _put_header(
    told: Told, first: str, lines: Sequence[str], printed: tuple[int, int, int]
) -> None:
    device_class, vendor, device = printed
    revision, interface = _REVISION.search(first), _INTERFACE.search(first)
    told.put(0x00, 2, vendor)
    told.put(0x02, 2, device)
    told.put(0x08, 1, int(revision[1], 16) if revision else 0)
    told.put(0x09, 1, int(interface[1], 16) if interface else 0)
    told.put(0x0A, 2, device_class)
    buses = next((found for line in lines if (found := _BUSES.fullmatch(line))), None)
    layout = 0 if buses is None else 2 if device_class == _CARDBUS else 1
    told.put(0x0E, 1, layout)
    if buses is not None:
        told.put(0x18, 3, int.from_bytes(bytes.fromhex("".join(buses.groups())), "little"))
        return
    subsystem = next((found for line in lines if (found := _SUBSYSTEM.fullmatch(line))), None)
    if subsystem is not None:
        told.put(0x2C, 2, int(subsystem[1], 16))
        told.put(0x2E, 2, int(subsystem[2], 16))


def _put_capabilities(told: Told, lines: Sequence[str], vendor: int) -> None:
    """Take the two lists, as far as they are whole."""
    if any(_DENIED.fullmatch(line) for line in lines):
        told.reason = None
        return
    found = _capabilities(lines)
    if any("<chain " in text or "<unreadable>" in text for _, _, text in found):
        told.reason = _BROKEN
        return
    plain = [c for c in found if c[0] < CONVENTIONAL_SIZE]
    extended = [c for c in found if c[0] >= CONVENTIONAL_SIZE]
    told.put(0x06, 2, 0x10 if plain else 0)
    told.put(0x34, 1, plain[0][0] if plain else 0)
    kind = None
    for at, _, text, behind in _chained(plain):
        is_express = text.startswith("Express ")
        told.put(at, 2, (CapabilityId.PCI_EXPRESS if is_express else 0) | behind << 8)
        if is_express:
            kind = put_express(told, at, text)
    if plain and not extended:
        told.reason = _NO_EXTENDED
    for at, version, text, behind in _chained(extended):
        name = text.split("\n", 1)[0].strip()
        number = _NAMES.get(name, ExtendedCapabilityId.NULL)
        told.put(at, 4, number | version << 16 | behind << 20)
        match number:
            case ExtendedCapabilityId.ACS:
                put_acs(told, at, text, control=_control_is_told(kind, vendor, told))
            case ExtendedCapabilityId.ATS:
                put_ats(told, at, text)
            case ExtendedCapabilityId.SR_IOV:
                put_sriov(told, at, text)
            case _:
                pass


def _control_is_told(kind: PortType | None, vendor: int, told: Told) -> bool:
    """Return whether ACS Control is where lspci looks: some Intel root ports have it elsewhere."""
    is_known = int.from_bytes(told.data[2:4], "little") != _NO_ID
    return (
        is_known
        or (kind is not PortType.ROOT_PORT and kind is not None)
        or (vendor not in (_INTEL, _NO_ID))
    )


def _capabilities(lines: Sequence[str]) -> list[tuple[int, int, str]]:
    """Return offset, version and text of each capability, in the order of the lists."""
    found: list[tuple[int, int, list[str]]] = []
    for line in lines:
        if begins := _CAPABILITY.fullmatch(line):
            found.append((int(begins[1], 16), int(begins[2] or 1), [begins[3]]))
        elif found:
            found[-1][2].append(line)
    return [(at, version, "\n".join(text)) for at, version, text in found]


def _chained(found: Sequence[tuple[int, int, str]]) -> list[tuple[int, int, str, int]]:
    """Return each capability with the offset of the next; 0 behind the last."""
    offsets = [at for at, _, _ in found]
    behind = [*offsets[1:], 0]
    return [(*c, after) for c, after in zip(found, behind, strict=False)]
