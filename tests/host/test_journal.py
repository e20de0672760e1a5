"""Journal entries as journald's socket gets them, decoded by the protocol's description."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from pcietune.host.journal import send


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[socket.socket]:
    """Return a socket as journald has one."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        receiver.bind(str(tmp_path / "socket"))
        receiver.settimeout(5)
        yield receiver


def place(journal: socket.socket) -> Path:
    return Path(journal.getsockname())


def test_each_entry_is_a_datagram(journal: socket.socket) -> None:
    left = send([{"MESSAGE": "one", "PRIORITY": "3"}, {"MESSAGE": "two"}], place(journal))

    assert left == []
    assert journal.recv(1000) == b"MESSAGE=one\nPRIORITY=3\n"
    assert journal.recv(1000) == b"MESSAGE=two\n"


def test_a_value_of_several_lines_forges_no_field(journal: socket.socket) -> None:
    send([{"MESSAGE": "two\nPRIORITY=0", "PRIORITY": "6"}], place(journal))

    # systemd.io/JOURNAL_NATIVE_PROTOCOL: name, newline, 64-bit little-endian length, value, newline
    expected = b"MESSAGE\n\x0e\0\0\0\0\0\0\0two\nPRIORITY=0\nPRIORITY=6\n"
    assert journal.recv(1000) == expected


def test_text_is_sent_as_utf_8(journal: socket.socket) -> None:
    send([{"MESSAGE": "é=\udcff", "A": ""}], place(journal))

    assert journal.recv(1000) == b"MESSAGE=\xc3\xa9=\\udcff\nA=\n"


def test_without_a_journal_all_is_left(tmp_path: Path) -> None:
    entries = [{"MESSAGE": "one"}, {"MESSAGE": "two"}]

    assert send(entries, tmp_path / "socket") == entries


def test_a_journal_that_nobody_reads_any_more_leaves_all(
    journal: socket.socket, tmp_path: Path
) -> None:
    journal.close()

    assert (tmp_path / "socket").is_socket()
    assert send([{"MESSAGE": "one"}], tmp_path / "socket") == [{"MESSAGE": "one"}]
