"""One pcietune at a time on a host; locks are held by real processes."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pcietune.errors import BadInputError, ExitCode, LockedError, NotPermittedError
from pcietune.host.host_files import HostFiles
from pcietune.host.run.lock import locked, locked_archive

HOLDER = """
import sys, time
from pathlib import Path
from pcietune.host.host_files import HostFiles
from pcietune.host.run.lock import locked

with locked(HostFiles(Path(sys.argv[1]), recorded=False), "apply", wait_s=0, on_wait=print):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def files(tmp_path: Path) -> HostFiles:
    (tmp_path / "run").mkdir()
    return HostFiles(tmp_path, recorded=False)


@pytest.fixture
def holder(files: HostFiles) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-c", HOLDER, str(files.root)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def _nobody_waits(_holder: str) -> None:
    raise AssertionError("there is nobody to wait for")


def test_a_lock_is_held_in_the_hosts_own_run_directory(files: HostFiles) -> None:
    with locked(files, "apply", wait_s=0, on_wait=_nobody_waits):
        lock = files.root / "run/pcietune/lock"
        assert lock.read_text() == f"pid {os.getpid()}, apply"


def test_a_lock_can_be_taken_again(files: HostFiles) -> None:
    for _ in range(2):
        with locked(files, "apply", wait_s=0, on_wait=_nobody_waits):
            pass


def test_a_second_pcietune_says_for_whom_it_waits_and_then_gives_up(
    files: HostFiles, holder: "subprocess.Popen[str]"
) -> None:
    waited_for: list[str] = []
    start = time.monotonic()

    with (
        pytest.raises(LockedError) as raised,
        locked(files, "restore", wait_s=0.2, on_wait=waited_for.append),
    ):
        pass

    assert time.monotonic() - start >= 0.2
    assert waited_for == [f"another pcietune (pid {holder.pid}, apply)"]
    assert str(raised.value) == (
        f"another pcietune (pid {holder.pid}, apply) is at work on this host"
    )
    assert raised.value.hint == "run pcietune again when it has ended"
    assert raised.value.exit_code == ExitCode.LOCKED


def test_a_lock_ends_with_a_holder_that_is_killed(
    files: HostFiles, holder: "subprocess.Popen[str]"
) -> None:
    waited_for: list[str] = []

    def kill(name: str) -> None:
        waited_for.append(name)
        holder.send_signal(signal.SIGKILL)

    with locked(files, "restore", wait_s=30, on_wait=kill):
        assert len(waited_for) == 1


def test_other_hosts_are_not_locked(
    tmp_path: Path, files: HostFiles, holder: "subprocess.Popen[str]"
) -> None:
    recording = HostFiles(tmp_path / "recording", recorded=True)
    recording.root.mkdir()

    with locked(recording, "apply", wait_s=0, on_wait=_nobody_waits):
        assert files.root != recording.root
        assert holder.poll() is None


def test_a_missing_run_is_said_to_be_missing(tmp_path: Path) -> None:
    files = HostFiles(tmp_path, recorded=False)

    with (
        pytest.raises(NotPermittedError) as raised,
        locked(files, "apply", wait_s=0, on_wait=_nobody_waits),
    ):
        pass

    assert str(raised.value) == (
        f"cannot keep the lock in {tmp_path}/run/pcietune: No such file or directory"
    )
    assert raised.value.hint == "is /run mounted?"


def test_a_lock_that_others_may_write_is_refused(files: HostFiles) -> None:
    with locked(files, "apply", wait_s=0, on_wait=_nobody_waits):
        pass
    (files.root / "run/pcietune/lock").chmod(0o622)

    with (
        pytest.raises(BadInputError, match=r"run/pcietune/lock may be written by others"),
        locked(files, "apply", wait_s=0, on_wait=_nobody_waits),
    ):
        pass


def test_a_pipe_is_no_lock(files: HostFiles) -> None:
    (files.root / "run/pcietune").mkdir()
    os.mkfifo(files.root / "run/pcietune/lock")

    with (
        pytest.raises(BadInputError, match=r"run/pcietune/lock is no plain file"),
        locked(files, "apply", wait_s=0, on_wait=_nobody_waits),
    ):
        pass


def test_whoever_waited_for_an_archive_holds_the_file_that_took_its_place(tmp_path: Path) -> None:
    archive, new = tmp_path / "host.tar", tmp_path / "new.tar"
    archive.write_bytes(b"old")
    new.write_bytes(b"new")
    holder = ["flock", str(archive), "sh", "-c", f"echo held; read go; mv {new} {archive}"]

    with subprocess.Popen(holder, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:

        def let_go(_holder: str) -> None:
            process.communicate(b"go\n")

        assert process.stdout is not None
        process.stdout.readline()
        with locked_archive(archive, wait_s=30, on_wait=let_go):
            content = archive.read_bytes()
            third = subprocess.run(["flock", "--nonblock", archive, "true"], check=False)

    assert content == b"new"
    assert third.returncode == 1


def test_an_archive_that_is_gone_cannot_be_locked(tmp_path: Path) -> None:
    with (
        pytest.raises(NotPermittedError, match=r"cannot lock .*: No such file or directory"),
        locked_archive(tmp_path / "host.tar", wait_s=0, on_wait=_nobody_waits),
    ):
        pass
