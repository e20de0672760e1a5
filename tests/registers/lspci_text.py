"""What ``lspci -D -vvv`` says of the registers that pcietune decodes, as numbers and names."""

import re
from dataclasses import dataclass

from pcietune.address import PciAddress

_PORT_TYPE = re.compile(
    r"Express \(v\d\) ([A-Z][A-Za-z/ -]*?)(?: \(Slot[+-]\))?(?:,.*)?$", re.MULTILINE
)


@dataclass(frozen=True)
class Link:
    """Speed in GT/s and number of lanes."""

    speed: float | None
    lanes: int


@dataclass(frozen=True)
class DeviceControl:
    """Payloads in bytes, and Relaxed Ordering."""

    max_payload_supported: int
    max_payload: int
    relaxed_ordering: bool


@dataclass(frozen=True)
class Bits:
    """A pair of ACS registers: lspci's names of the bits that are on."""

    supported: frozenset[str]
    enabled: frozenset[str]


@dataclass(frozen=True)
class TranslationService:
    """ATS: Invalidate Queue Depth, Enable, and the Smallest Translation Unit in bytes."""

    depth: int
    enabled: bool
    unit: int


@dataclass(frozen=True)
class VirtualFunctions:
    """SR-IOV."""

    enabled: bool
    total: int
    count: int
    device_id: int


@dataclass(frozen=True)
class Described:
    """One function, whose lists are whole. None stands for registers that are not there.

    Attributes:
        capabilities: Offsets in list order.
        extended: Offsets and versions in list order, without Null.
        port_type: In lspci's words.
        target_speed: Target Link Speed in GT/s.
    """

    capabilities: tuple[int, ...]
    extended: tuple[tuple[int, int], ...]
    port_type: str | None
    device_control: DeviceControl | None
    link_capable: Link | None
    link: Link | None
    target_speed: float | None
    acs: Bits | None
    ats: TranslationService | None
    virtual_functions: VirtualFunctions | None


def read_lspci(text: str) -> dict[PciAddress, Described | None]:
    """Return what each block of the text says; None for all ones or a broken list."""
    blocks = text.strip().split("\n\n")
    return {PciAddress.parse(block.partition(" ")[0]): _described(block) for block in blocks}


def _described(block: str) -> Described | None:
    if re.search(r"!!! Unknown header type 7f|Capabilities: \[.*\] <chain ", block):
        return None
    port_type = _PORT_TYPE.search(block)
    return Described(
        capabilities=tuple(
            int(offset, 16) for offset in re.findall(r"Capabilities: \[([0-9a-f]{2})\]", block)
        ),
        extended=tuple(
            (int(offset, 16), int(version))
            for offset, version in re.findall(
                r"Capabilities: \[([0-9a-f]{3}) v(\d+)\] (?!Null)", block
            )
        ),
        port_type=port_type and port_type[1],
        device_control=_device_control(block),
        link_capable=_link(re.search(r"LnkCap:\tPort #\d+, Speed (\S+), Width x(\d+)", block)),
        link=_link(re.search(r"LnkSta:\tSpeed (\S+)(?: \(\w+\))?, Width x(\d+)", block)),
        target_speed=_target_speed(block),
        acs=_acs(block),
        ats=_ats(block),
        virtual_functions=_virtual_functions(block),
    )


def _device_control(block: str) -> DeviceControl | None:
    match = re.search(
        r"DevCap:\tMaxPayload (\d+) bytes.*?RlxdOrd([+-]).*?MaxPayload (\d+) bytes",
        block,
        re.DOTALL,
    )
    return match and DeviceControl(int(match[1]), int(match[3]), match[2] == "+")


def _link(match: re.Match[str] | None) -> Link | None:
    if match is None:
        return None
    speed = None if match[1] == "unknown" else float(match[1].removesuffix("GT/s"))
    return Link(speed, int(match[2]))


def _target_speed(block: str) -> float | None:
    match = re.search(r"LnkCtl2: Target Link Speed: ([0-9.]+)GT/s", block)
    return match and float(match[1])


def _acs(block: str) -> Bits | None:
    registers = re.findall(r"ACS(?:Cap|Ctl):\t(.*)", block)
    if not registers:
        return None
    supported, enabled = (frozenset(re.findall(r"(\w+)\+", line)) for line in registers)
    return Bits(supported, enabled)


def _ats(block: str) -> TranslationService | None:
    match = re.search(
        r"ATSCap:\tInvalidate Queue Depth: ([0-9a-f]+)\n"
        r"\t\tATSCtl:\tEnable([+-]), Smallest Translation Unit: ([0-9a-f]+)",
        block,
    )
    if match is None:
        return None
    depth, unit = int(match[1], 16), int(match[3], 16)  # both as the register encodes them
    return TranslationService(depth or 32, match[2] == "+", 4096 << unit)


def _virtual_functions(block: str) -> VirtualFunctions | None:
    match = re.search(
        r"IOVCtl:\tEnable([+-]).*?Total VFs: (\d+), Number of VFs: (\d+)"
        r".*?Device ID: ([0-9a-f]{4})",
        block,
        re.DOTALL,
    )
    return match and VirtualFunctions(
        match[1] == "+", int(match[2]), int(match[3]), int(match[4], 16)
    )
