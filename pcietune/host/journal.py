"""Entries with fields of their own in systemd's journal, by its native protocol.

https://systemd.io/JOURNAL_NATIVE_PROTOCOL/: one datagram is one entry.
"""

import socket
import struct
from collections.abc import Iterable, Mapping
from pathlib import Path

JOURNAL = Path("/run/systemd/journal/socket")
_LONGEST_S = 5.0  # for one entry; a journal that hangs must not hang an audit


def send(entries: Iterable[Mapping[str, str]], journal: Path = JOURNAL) -> list[Mapping[str, str]]:
    """Write entries to the journal, and return those that it did not take.

    That is all of them where no systemd-journald listens.

    Args:
        entries: Values by the names of their fields, which are of upper case letters, digits and
            underscores; ``MESSAGE`` and ``PRIORITY`` are among them.
        journal: Journald's socket.
    """
    left = list(entries)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.settimeout(_LONGEST_S)
        try:
            sender.connect(str(journal))
            while left:
                sender.send(datagram(left[0]))
                del left[0]
        except OSError:
            return left
    return left


def datagram(entry: Mapping[str, str]) -> bytes:
    """Return one entry as the protocol has it; lone surrogates are escaped, as it is all UTF-8."""
    return b"".join(
        _field(name.encode(), value.encode(errors="backslashreplace"))
        for name, value in entry.items()
    )


def _field(name: bytes, value: bytes) -> bytes:
    """Return a field: of several lines it is preceded by its length in bytes, 64 bits wide."""
    if b"\n" in value:
        return name + b"\n" + struct.pack("<Q", len(value)) + value + b"\n"
    return name + b"=" + value + b"\n"
