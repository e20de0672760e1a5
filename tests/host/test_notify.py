import os
import socket
from pathlib import Path

import pytest

from pcietune.host.journal_stream import stderr_is_journal
from pcietune.host.notify import notify


@pytest.mark.parametrize("abstract", [False, True], ids=["path", "abstract"])
def test_the_service_manager_gets_one_datagram_of_all_assignments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, abstract: bool
) -> None:
    place = f"@{tmp_path}" if abstract else str(tmp_path / "notify")
    monkeypatch.setenv("NOTIFY_SOCKET", place)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(f"\0{tmp_path}" if abstract else place)

        notify(READY="1", STATUS="all is well")

        assert manager.recv(1000) == b"READY=1\nSTATUS=all is well"


@pytest.mark.parametrize("place", ["", "/nowhere/at/all", "vsock:2:1234"])
def test_without_a_service_manager_nothing_happens(
    monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", place)

    notify(READY="1")


def test_stderr_is_the_journal_only_if_it_is_what_systemd_connected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    status = os.fstat(2)

    monkeypatch.setenv("JOURNAL_STREAM", f"{status.st_dev}:{status.st_ino}")
    assert stderr_is_journal()
    monkeypatch.setenv("JOURNAL_STREAM", f"{status.st_dev}:{status.st_ino + 1}")
    assert not stderr_is_journal()
    monkeypatch.delenv("JOURNAL_STREAM")
    assert not stderr_is_journal()
