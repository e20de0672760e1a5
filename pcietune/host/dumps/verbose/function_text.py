"""Makes the bytes of one function of what ``lspci -vvv`` prints of it."""

import re
from collections.abc import Sequence

from pcietune.host.dumps.verbose.capability_text import (
    put_acs,
    put_ats,
    put_express,
    put_sriov,
    put_vendor_specific,
)
from pcietune.host.dumps.verbose.names import NOT_TOLD
from pcietune.host.dumps.verbose.told import Told
from pcietune.host.recordings.manifest import UnreadConfig
from pcietune.registers.capability_list import CapabilityId, ExtendedCapabilityId
from pcietune.registers.config_space import CONVENTIONAL_SIZE
from pcietune.registers.express import PortType

_CAPABILITY = re.compile(r"\s+Capabilities: \[([0-9a-f]{2,3})(?: v([0-9]{1,2}))?\] (.*)")
_DENIED = re.compile(r"\s+Capabilities: <access denied>")
_FLAGS = re.compile(r"\s+(?:Flags|Control|Status): .*")
_NO_ANSWER = re.compile(r"\s+!!! Unknown header type [0-9a-f]+")
_BUSES = re.compile(
    r"\s+Bus: primary=([0-9a-f]{2}), secondary=([0-9a-f]{2}), subordinate=([0-9a-f]{2}), .*"
)
_SUBSYSTEM = re.compile(r"\s+Subsystem: (?:.*\[)?([0-9a-f]{4}):([0-9a-f]{4})\]?.*")
_REVISION = re.compile(r"\(rev ([0-9a-f]{2})\)")
_INTERFACE = re.compile(r"\(prog-if ([0-9a-f]{2})")
_CARDBUS, _INTEL = 0x0607, 0x8086
_EXPRESS = "Express "
_VENDOR_SPECIFIC = "Vendor Specific Information"
_NAMES = {
    "Access Control Services": ExtendedCapabilityId.ACS,
    "Access Controls <?>": ExtendedCapabilityId.ACS,  # of pciutils 3.0, which decodes none of it
    "Address Translation Service (ATS)": ExtendedCapabilityId.ATS,
    "Single Root I/O Virtualization (SR-IOV)": ExtendedCapabilityId.SR_IOV,
    "Advanced Error Reporting": ExtendedCapabilityId.ADVANCED_ERROR_REPORTING,
}
# What lspci has no name for: of 3.1 and before, and since
_NUMBERED = re.compile(r"(?:#|(?:Extended )?Capability ID (?:0x)?)([0-9a-f]{1,4})\b.*")
NOT_IN_WORDS = "lspci prints no bytes without -xxxx, and has no words for what is there"
"""Why registers count as unread of which -vvv tells nothing."""
_NOT_DECODED = "lspci -v does not print it, lspci -vvv does"
_NO_DEVICE_ID = (
    "some Intel root ports have ACS Control elsewhere than lspci looks, and lspci without -nn does "
    "not tell which port this is"
)
_LISTED = re.compile(r"\s+Status: Cap\+ .*")
_STATUS = re.compile(r"\s+Status: Cap[+-] .*")
_NOT_HERE = "its Status says that it has capabilities, but none is in the text"
_CUT_OFF = "the text may end in the middle of its capabilities: no empty line follows them"
_BEHIND_ALL = re.compile(r"\s+Kernel .*")  # the driver, by show_kernel of lspci.c
_BROKEN = "lspci found the list of capabilities broken"
NO_EXTENDED = "lspci printed no Extended Capability: there is none, or it could not read any"
"""Why Extended Configuration Space counts as unread where nothing is printed of it."""


def registers_of(
    first: str, lines: Sequence[str], printed: tuple[int, int, int], *, ended: bool
) -> tuple[bytearray, UnreadConfig] | None:
    """Return a function's bytes as far as they are told, and what is not.

    Args:
        first: The line with its address.
        lines: All that are printed below it.
        printed: Class (16 bits), Vendor and Device ID; ffff where not told.
        ended: Whether something follows them, as lspci has an empty line follow each function.

    Returns:
        None if these are no lines of ``lspci -v``.
    """
    if any(_NO_ANSWER.fullmatch(line) for line in lines):
        absent = Told("it does not answer")
        absent.data[:] = b"\xff" * len(absent.data)
        return absent.data, absent.unread()
    if not any(_FLAGS.fullmatch(line) for line in lines):
        return None
    told = Told(NOT_IN_WORDS)
    _put_header(told, first, lines, printed)
    whole = ended or any(_BEHIND_ALL.fullmatch(line) for line in lines)
    _put_capabilities(told, lines, printed[1], whole=whole)
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


def _put_capabilities(told: Told, lines: Sequence[str], vendor: int, *, whole: bool) -> None:
    """Take the two lists; of one that may be cut off neither the last capability nor the end."""
    if any(_DENIED.fullmatch(line) for line in lines):
        told.reason = None
        return
    found = _capabilities(lines)
    if any("<chain " in text or "<unreadable>" in text for _, _, text in found):
        told.reason = _BROKEN
        return
    if not found and any(_LISTED.fullmatch(line) for line in lines):
        told.reason = _NOT_HERE
        return
    if not (whole or found or any(_STATUS.fullmatch(line) for line in lines)):
        told.reason = _CUT_OFF
        return
    plain = [c for c in found if c[0] < CONVENTIONAL_SIZE]
    extended = [c for c in found if c[0] >= CONVENTIONAL_SIZE]
    kind = _put_plain(told, plain, whole=whole or bool(extended))
    if plain and not extended:
        told.reason = NO_EXTENDED
    _put_extended(told, extended, kind, vendor, whole=whole)
    if found and not whole:
        told.reason = _CUT_OFF


def _put_plain(
    told: Told, plain: Sequence[tuple[int, int, str]], *, whole: bool
) -> PortType | None:
    """Take the Capability list; return what kind of port it tells of, if any."""
    told.put(0x06, 2, 0x10 if plain else 0)
    told.put(0x34, 1, plain[0][0] if plain else 0)
    kind = None
    for at, _, text, behind in _chained(plain, whole=whole):
        if text.startswith(_EXPRESS):
            told.put(at, 2, CapabilityId.PCI_EXPRESS | behind << 8)
            kind = put_express(told, at, text)
            told.reason = NOT_IN_WORDS if "DevCap:" in text else _NOT_DECODED
        elif text.startswith(_VENDOR_SPECIFIC):
            told.put(at, 2, CapabilityId.VENDOR_SPECIFIC | behind << 8)
            put_vendor_specific(told, at, text)
        else:
            told.put(at, 2, _number(text) & 0xFF | behind << 8)
    return kind


def _put_extended(
    told: Told,
    extended: Sequence[tuple[int, int, str]],
    kind: PortType | None,
    vendor: int,
    *,
    whole: bool,
) -> None:
    for at, version, text, behind in _chained(extended, whole=whole):
        name = text.split("\n", 1)[0].strip()
        number = _NAMES.get(name, _number(name))
        told.put(at, 4, number | (version & 0xF) << 16 | behind << 20)
        match number:
            case ExtendedCapabilityId.ACS:
                is_told = _control_is_told(kind, vendor, told)
                put_acs(told, at, text, control=is_told)
                told.reason = told.reason if is_told else _NO_DEVICE_ID
            case ExtendedCapabilityId.ATS:
                put_ats(told, at, text)
            case ExtendedCapabilityId.SR_IOV:
                put_sriov(told, at, text)
            case _:
                pass


def _number(text: str) -> int:
    """Return the ID of a capability that lspci has no name for; of others 0, as of no concern."""
    found = _NUMBERED.match(text)
    return 0 if found is None else int(found[1], 16)


def _control_is_told(kind: PortType | None, vendor: int, told: Told) -> bool:
    """Return whether ACS Control is where lspci looks: some Intel root ports have it elsewhere."""
    is_known = int.from_bytes(told.data[2:4], "little") != NOT_TOLD
    return (
        is_known
        or (kind is not PortType.ROOT_PORT and kind is not None)
        or (vendor not in (_INTEL, NOT_TOLD))
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


def _chained(
    found: Sequence[tuple[int, int, str]], *, whole: bool
) -> list[tuple[int, int, str, int]]:
    """Return each capability with the offset of the next; 0 behind the last of a whole list."""
    offsets = [at for at, _, _ in found]
    behind = [*offsets[1:], *([0] if whole else [])]
    return [(*c, after) for c, after in zip(found, behind, strict=False)]
