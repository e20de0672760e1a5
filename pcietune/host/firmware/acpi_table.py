"""ACPI tables as the kernel shows them to root: read, and checked before anything is taken out."""

from pcietune.host.host_files import HostFiles

TABLES = "sys/firmware/acpi/tables"
"""Where they are; readable by root alone (drivers/acpi/sysfs.c)."""

HEADER_SIZE = 36  # bytes (struct acpi_table_header, include/acpi/actbl.h)
_LENGTH = slice(4, 8)


def read_table(files: HostFiles, signature: str) -> bytes | None:
    """Return a table with its header; None if it is absent or unreadable.

    Raises:
        ValueError: It is damaged.
    """
    try:
        data = files.read(f"{TABLES}/{signature}")
    except OSError:
        return None
    check_whole(data, signature)
    return data


def check_whole(data: bytes, signature: str) -> None:
    """Do nothing if this is the table of that signature, whole and with a right checksum.

    Raises:
        ValueError: It is not.
    """
    length = int.from_bytes(data[_LENGTH], "little")
    if len(data) < HEADER_SIZE:
        raise ValueError(f"it has {len(data)} bytes")
    if data[:4] != signature.encode():
        raise ValueError(f"its signature is {data[:4]!r}")
    if length != len(data):
        raise ValueError(f"it has {len(data)} bytes where it says {length}")
    if sum(data) % 0x100:
        raise ValueError("its checksum is wrong")
