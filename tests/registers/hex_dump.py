"""Hex dumps as ``lspci -xxxx`` writes them, and as a person can: zeros and comments left out."""

import re

from pcietune.address import PciAddress

_FUNCTION = re.compile(r"((?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) ")
_ROW = re.compile(r"([0-9a-f]{2,3}):((?: +[0-9a-f]{2}){1,16})")


def read_hex_dump(text: str) -> dict[PciAddress, bytes]:
    """Return each function's bytes; what no row gives is 0, and the last row's end is the end."""
    functions: dict[PciAddress, bytearray] = {}
    data = bytearray()
    for line in text.splitlines():
        if function := _FUNCTION.match(line):
            data = functions[PciAddress.parse(function[1])] = bytearray()
        elif row := _ROW.fullmatch(line.rstrip()):
            offset, values = int(row[1], 16), bytes.fromhex(row[2])
            data.extend(bytes(max(0, offset + 16 - len(data))))
            data[offset : offset + len(values)] = values
    return {address: bytes(data) for address, data in functions.items()}


def write_hex_dump(functions: dict[PciAddress, bytes]) -> str:
    """Return a dump with every row, which ``lspci -F`` reads."""
    lines = []
    for address, data in functions.items():
        lines.append(f"{address} function")
        lines += [
            f"{offset:02x}: {data[offset : offset + 16].hex(' ')}"
            for offset in range(0, len(data), 16)
        ]
        lines.append("")
    return "\n".join(lines)
