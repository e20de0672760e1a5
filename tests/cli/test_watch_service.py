"""The service in this process, which a signal ends as soon as it says that it is ready."""

import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest
from cli.watched import SETTINGS
from trees.host import TreeHost
from trees.machines import one_switch
from tune.judged import opened

from pcietune.cli.watch_service import serve
from pcietune.errors import ExitCode, NotPermittedError, SwitchedOffError
from pcietune.host.host_files import HostFiles
from pcietune.host.sysfs import SysfsHost
from pcietune.report.watch import NoticeDocument

LONGEST_S = 60.0


@contextmanager
def ended_by(
    number: signal.Signals, place: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[list[bytes]]:
    """Be the service manager, which sends a signal once it hears something; yield what it hears."""
    monkeypatch.setenv("NOTIFY_SOCKET", f"@{place}")
    heard: list[bytes] = []
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(f"\0{place}")
        manager.settimeout(LONGEST_S)

        def manage() -> None:
            heard.append(manager.recv(1000))
            os.kill(os.getpid(), number)

        thread = threading.Thread(target=manage)
        thread.start()
        yield heard
        thread.join()


@pytest.fixture
def tree(tmp_path: Path) -> TreeHost:
    tree = one_switch(tmp_path)
    tree.put(SETTINGS, "mode: vm\nenforce: apply\nprofile: gpu-rdma")
    return tree


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGTERM, ExitCode.OK), (signal.SIGINT, ExitCode.INTERRUPTED)],
)
def test_it_is_ready_after_the_first_look_and_ends_as_the_signal_asks(
    tree: TreeHost, monkeypatch: pytest.MonkeyPatch, number: signal.Signals, code: ExitCode
) -> None:
    handlers = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGHUP)

    with ended_by(number, tree.root, monkeypatch) as heard:
        assert serve(lambda: opened(tree), 300, as_json=True) is code

    assert heard[0].startswith(b"READY=1\nSTATUS=")
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGHUP)) == handlers


def test_for_people_it_tells_on_stderr(
    tree: TreeHost, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("JOURNAL_STREAM", raising=False)

    with ended_by(signal.SIGTERM, tree.root, monkeypatch):
        serve(lambda: opened(tree), 300, as_json=False)

    told = capsys.readouterr()
    assert told.out == ""
    assert "0000:22:04.0  repaired ACSCtl at 0x106: 0x001d -> 0x005d" in told.err


def test_for_programs_it_tells_on_stdout(
    tree: TreeHost, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with ended_by(signal.SIGTERM, tree.root, monkeypatch):
        serve(lambda: opened(tree), 300, as_json=True)

    told = capsys.readouterr()
    lines = [msgspec.json.decode(line, type=NoticeDocument) for line in told.out.splitlines()]
    assert told.err == ""
    assert {"repaired", "watching"} <= {line.kind for line in lines}


def test_where_it_is_switched_off_it_does_not_begin(tree: TreeHost) -> None:
    tree.put("etc/pcietune/disabled", "")

    with pytest.raises(SwitchedOffError):
        serve(lambda: opened(tree), 300, as_json=True)


class Unprivileged(SysfsHost):
    @property
    def privileged(self) -> bool:
        return False


def test_who_is_not_root_is_told_so(tree: TreeHost) -> None:
    with pytest.raises(NotPermittedError, match="watch reads registers"):
        serve(lambda: Unprivileged(HostFiles(tree.root, recorded=True)), 300, as_json=True)
