"""Any bytes as the ACPI tables that say where ATS is."""

import struct
from collections.abc import Callable, Iterable
from contextlib import suppress

from fuzz.target import Target
from trees.acpi import (
    ATSR,
    ENDPOINT,
    SATC,
    dmar,
    hardware_unit,
    iort,
    its_group,
    root_complex,
    scope,
    structure,
)

from pcietune.host.firmware.acpi_table import check_whole
from pcietune.host.firmware.dmar import DMAR, parse_dmar
from pcietune.host.firmware.iort import IORT, parse_iort


def look(data: bytes) -> None:
    """Read a table as it is, which may be refused, and with the length and sum that it needs."""
    for signature, parse in ((DMAR, parse_dmar), (IORT, parse_iort)):
        with suppress(ValueError):
            check_whole(data, signature)
        _parsed(parse, data)
        whole = _whole(data, signature)
        check_whole(whole, signature)
        _parsed(parse, whole)


def seeds() -> Iterable[bytes]:
    """Yield a table of each kind, as firmware has them."""
    ports = scope(0x20, ((1, 0),)), scope(0x40, ((3, 2), (0, 1)))
    yield dmar(hardware_unit(scope(0, ((0x1F, 0),))), structure(ATSR, *ports))
    yield dmar(structure(ATSR, flags=1, segment=2), structure(SATC, scope(0, ((2, 0),), ENDPOINT)))
    yield iort([its_group(), root_complex(0, 1), root_complex(1, 0)])


def _parsed(parse: Callable[[bytes], object], data: bytes) -> None:
    with suppress(ValueError):  # which the readers take for a table that makes no sense
        parse(data)


def _whole(data: bytes, signature: str) -> bytes:
    body = data.ljust(36, b"\0")
    head = signature.encode() + struct.pack("<I", len(body)) + body[8:9]
    return head + bytes([-(sum(head) + sum(body[10:])) % 0x100]) + body[10:]


TARGET = Target(look, seeds, longest=1024)
