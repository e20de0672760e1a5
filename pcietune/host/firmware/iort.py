"""Reads the ACPI table IORT: ARM DEN 0049; struct acpi_iort_root_complex, include/acpi/actbl2.h."""

import struct
from collections.abc import Iterator, Mapping

from pcietune.host.firmware.acpi_table import HEADER_SIZE, read_table
from pcietune.host.host_files import HostFiles

IORT = "IORT"

_TABLE = struct.Struct("<II4x")  # after the header: Number of IORT Nodes, Offset to them
_NODE = struct.Struct("<BH13x")  # Type, Length, then Revision, Identifier and the ID mappings
_ROOT_COMPLEX = 2  # Type: ACPI_IORT_NODE_PCI_ROOT_COMPLEX
_ATTRIBUTES = struct.Struct("<8xII")  # Memory Access Properties, ATS Attribute, Segment Number
_ATS_SUPPORTED = 1 << 0  # ACPI_IORT_ATS_SUPPORTED


def read_iort(files: HostFiles) -> Mapping[int, bool] | None:
    """Return by PCI segment whether its root complex has ATS.

    None if the table is absent (a host with a device tree) or not readable.

    Raises:
        ValueError: It is damaged, or as ``parse_iort``.
    """
    table = read_table(files, IORT)
    return None if table is None else parse_iort(table)


def parse_iort(table: bytes) -> Mapping[int, bool]:
    """Return by PCI segment whether its root complex has ATS.

    Of several nodes for one segment the first counts, as in Linux (iort_scan_node, arm64/iort.c).

    Raises:
        ValueError: A node is cut off, or too short for what it is.
    """
    segments: dict[int, bool] = {}
    for node in _nodes(table):
        if _NODE.unpack_from(node)[0] == _ROOT_COMPLEX:
            if len(node) < _NODE.size + _ATTRIBUTES.size:
                raise ValueError(f"a root complex has {len(node)} bytes")
            attribute, segment = _ATTRIBUTES.unpack_from(node, _NODE.size)
            segments.setdefault(segment, bool(attribute & _ATS_SUPPORTED))
    return segments


def _nodes(table: bytes) -> Iterator[bytes]:
    if len(table) < HEADER_SIZE + _TABLE.size:
        raise ValueError(f"the table has {len(table)} bytes")
    count, offset = _TABLE.unpack_from(table, HEADER_SIZE)
    for _ in range(count):
        node = table[offset:]
        length = _NODE.unpack_from(node)[1] if len(node) >= _NODE.size else 0
        if not _NODE.size <= length <= len(node):
            raise ValueError(f"a node of {length} bytes at {offset}")
        yield node[:length]
        offset += length
