"""ACPI tables as real bytes, laid out by hand from their specifications.

DMAR: Intel's VT-d specification, chapter 8. IORT: ARM DEN 0049.
"""

import struct
from collections.abc import Iterable

from trees.host import TreeHost

ATSR, SATC, DRHD = 2, 5, 0  # Types of Remapping Structures
ENDPOINT, SUB_HIERARCHY, IOAPIC = 1, 2, 3  # Types of Device Scope
ITS_GROUP, ROOT_COMPLEX = 0, 2  # Types of IORT nodes

Path = tuple[tuple[int, int], ...]


def table(signature: str, body: bytes) -> bytes:
    """Return a whole table: the header, and a checksum that makes all bytes add up to 0."""
    length = 36 + len(body)
    header = struct.pack(
        "<4sIBB6s8sI4sI",
        signature.encode(),
        length,
        1,  # Revision
        0,  # Checksum
        b"EXMPL ",
        b"EXAMPLE ",
        1,
        b"TEST",
        1,
    )
    checksum = -sum(header + body) % 0x100
    return header[:9] + bytes([checksum]) + header[10:] + body


def scope(bus: int, path: Path, kind: int = SUB_HIERARCHY) -> bytes:
    """Return a Device Scope: the path of Device and Function Numbers from ``bus`` on."""
    hops = b"".join(bytes(hop) for hop in path)
    return struct.pack("<BBHBB", kind, 6 + len(hops), 0, 0, bus) + hops


def structure(kind: int, *scopes: bytes, flags: int = 0, segment: int = 0) -> bytes:
    """Return a Remapping Structure: ATSR or SATC."""
    body = b"".join(scopes)
    return struct.pack("<HHBBH", kind, 8 + len(body), flags, 0, segment) + body


def hardware_unit(*scopes: bytes) -> bytes:
    """Return a DRHD, which says nothing of ATS."""
    body = b"".join(scopes)
    return struct.pack("<HHBBHQ", DRHD, 16 + len(body), 0, 0, 0, 0xFED9_0000) + body


def dmar(*structures: bytes) -> bytes:
    """Return a DMAR with these Remapping Structures."""
    return table("DMAR", struct.pack("<BB10x", 45, 1) + b"".join(structures))


def root_complex(segment: int, ats_attribute: int) -> bytes:
    """Return a node of a PCI root complex, without ID mappings."""
    node = struct.pack("<BHBIII", ROOT_COMPLEX, 36, 3, 0, 0, 0)
    return node + struct.pack("<QIIBHB", 0x0100_0000_0000_0001, ats_attribute, segment, 48, 0, 0)


def its_group() -> bytes:
    """Return a node of another kind."""
    return struct.pack("<BHBIIIII", ITS_GROUP, 24, 1, 0, 0, 0, 1, 0)


def iort(nodes: Iterable[bytes]) -> bytes:
    """Return an IORT with these nodes, which start right behind the table's own fields."""
    nodes = list(nodes)
    return table("IORT", struct.pack("<III", len(nodes), 48, 0) + b"".join(nodes))


def put_table(host: TreeHost, data: bytes) -> None:
    """Show a table as the kernel does."""
    file = host.root / "sys/firmware/acpi/tables" / data[:4].decode()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
