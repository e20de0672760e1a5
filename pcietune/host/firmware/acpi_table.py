"""ACPI tables as the kernel shows them to root: read, and checked before anything is taken out."""

from pcietune.host.host_files import HostFiles

TABLES = "sys/firmware/acpi/tables"
"""Where they are; readable by root alone (drivers/acpi/sysfs.c)."""

HEADER_SIZE = 36  # bytes (struct acpi_table_header, include/acpi/actbl.h)
_LENGTH = slice(4, 8)


def read_table(files: HostFiles, signature: str) -> bytes | None:
    """Return a table with its header; None if it is absent, unreadable or damaged."""
    try:
        data = files.read(f"{TABLES}/{signature}")
    except OSError:
        return None
    return data if is_whole(data, signature) else None


def is_whole(data: bytes, signature: str) -> bool:
    """Return whether this is the table of that signature, whole and with a right checksum."""
    return (
        len(data) >= HEADER_SIZE
        and data[:4] == signature.encode()
        and int.from_bytes(data[_LENGTH], "little") == len(data)
        and sum(data) % 0x100 == 0
    )
