"""Reads the ACPI table DMAR: Intel's VT-d specification, chapter 8; include/acpi/actbl1.h."""

import struct
from collections.abc import Iterator

from pcietune.host.firmware.acpi_table import HEADER_SIZE, read_table
from pcietune.host.host_files import HostFiles
from pcietune.model.dmar import DeviceScope, Dmar

DMAR = "DMAR"

_FIRST_STRUCTURE = HEADER_SIZE + 12  # Host Address Width, Flags and ten reserved bytes
_STRUCTURE = struct.Struct("<HH")  # Type, Length
_ATSR, _SATC = 2, 5  # Types: ACPI_DMAR_TYPE_ROOT_ATS, ACPI_DMAR_TYPE_SATC
_REPORT = struct.Struct("<HHBxH")  # of both: Type, Length, Flags, Segment Number
_ALL_PORTS = 1 << 0  # of an ATSR's Flags
_ATC_REQUIRED = 1 << 0  # of an SATC's Flags
_SCOPE = struct.Struct("<BBxxBB")  # Type, Length, Enumeration ID, Start Bus Number
_PCI_SCOPES = (1, 2)  # Types: PCI Endpoint Device, PCI Sub-hierarchy (a bridge)


def read_dmar(files: HostFiles) -> Dmar | None:
    """Return what DMAR says of ATS; None if it is absent or not readable.

    Raises:
        ValueError: It is damaged, or as ``parse_dmar``.
    """
    table = read_table(files, DMAR)
    return None if table is None else parse_dmar(table)


def parse_dmar(table: bytes) -> Dmar:
    """Return what a table says of ATS.

    Raises:
        ValueError: A structure in it is cut off, or too short for what it is.
    """
    all_ports: set[int] = set()
    root_ports: list[DeviceScope] = []
    integrated: list[DeviceScope] = []
    required: list[DeviceScope] = []
    for structure in _parts(table[_FIRST_STRUCTURE:], _STRUCTURE):
        kind, _ = _STRUCTURE.unpack_from(structure)
        if kind not in (_ATSR, _SATC):
            continue
        if len(structure) < _REPORT.size:
            raise ValueError(f"a structure of type {kind} has {len(structure)} bytes")
        _, _, flags, segment = _REPORT.unpack_from(structure)
        scopes = list(_scopes(structure[_REPORT.size :], segment))
        if kind == _SATC:
            (required if flags & _ATC_REQUIRED else integrated).extend(scopes)
        elif flags & _ALL_PORTS:
            all_ports.add(segment)
        else:
            root_ports += scopes
    return Dmar(frozenset(all_ports), tuple(root_ports), tuple(integrated), tuple(required))


def _scopes(data: bytes, segment: int) -> Iterator[DeviceScope]:
    """Yield the functions that a structure's Device Scope entries name."""
    for entry in _parts(data, _SCOPE):
        kind, _, _, bus = _SCOPE.unpack_from(entry)
        if kind in _PCI_SCOPES:
            hops = entry[_SCOPE.size :]
            path = zip(hops[::2], hops[1::2], strict=True)
            yield DeviceScope(segment, bus, tuple(path))


def _parts(data: bytes, header: struct.Struct) -> Iterator[bytes]:
    """Cut ``data`` into what starts with ``header``, whose second field is the whole length."""
    while data:
        if len(data) < header.size:
            raise ValueError(f"{len(data)} bytes are left over")
        length = header.unpack_from(data)[1]
        if not header.size <= length <= len(data):
            raise ValueError(f"a length of {length} among {len(data)} bytes")
        yield data[:length]
        data = data[length:]
