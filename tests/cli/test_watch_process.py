"""watch as a process of its own: what signals do, and what its service manager is told."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest
from cli.test_lock import held
from cli.watched import SETTINGS
from trees.machines import one_switch
from tune.judged import NIC_PORT

from pcietune.report.watch import NoticeDocument

PROGRAM = """
import sys
from pathlib import Path
from pcietune.cli.watch_service import serve
from pcietune.host.host_files import HostFiles
from pcietune.host.sysfs import SysfsHost

files = Path(sys.argv[1])
sys.exit(serve(lambda: SysfsHost(HostFiles(files, recorded=True)), 300, as_json=True))
"""
CHECKOUT = Path(__file__).parents[2]
BY_LINUX, TUNED = 0x001D, 0x005D
AT_ONCE_S = 10.0  # 0.1 s on an idle machine
LONGEST_S = 60.0  # for what takes a second on an idle machine


@contextmanager
def watching(
    root: Path, environment: Mapping[str, str] | None = None
) -> Iterator[tuple[subprocess.Popen[str], socket.socket]]:
    """Watch a tree; yield the process and its service manager's socket."""
    (root / SETTINGS).parent.mkdir(parents=True, exist_ok=True)
    (root / SETTINGS).write_text("mode: vm\nenforce: apply\nprofile: gpu-rdma\n")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(f"\0{root}")
        manager.settimeout(LONGEST_S)
        notify = {"NOTIFY_SOCKET": f"@{root}", "PYTHONPATH": str(CHECKOUT)}
        with subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(root)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **notify, **(environment or {})},
        ) as process:
            try:
                yield process, manager
            finally:
                process.kill()


def test_its_service_manager_is_told_when_it_is_ready_how_things_are_and_when_it_stops(
    tmp_path: Path,
) -> None:
    one_switch(tmp_path)

    with watching(tmp_path) as (process, manager):
        ready = manager.recv(1000).decode()
        assert word_of(tmp_path) == TUNED
        process.send_signal(signal.SIGTERM)
        stopping = manager.recv(1000).decode()
        process.wait(LONGEST_S)

    assert ready == ("READY=1\nSTATUS=0 findings failed, 0 could not be judged, 0 steps wait")
    assert stopping == "STOPPING=1"
    assert process.returncode == 0


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_signal_ends_it_at_once_long_before_the_next_look(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    one_switch(tmp_path)

    with watching(tmp_path) as (process, manager):
        manager.recv(1000)
        began = time.monotonic()
        process.send_signal(number)
        ended = process.wait(LONGEST_S)
        took_s = time.monotonic() - began

    assert ended == code
    assert took_s < AT_ONCE_S


def test_with_a_repair_to_make_and_the_lock_held_it_ends_at_once_too(tmp_path: Path) -> None:
    one_switch(tmp_path)

    with watching(tmp_path) as (process, manager):
        manager.recv(1000)
        set_word_of(tmp_path, BY_LINUX)
        with held(tmp_path):
            process.send_signal(signal.SIGHUP)
            manager.recv(1000)
            began = time.monotonic()
            process.send_signal(signal.SIGTERM)
            process.wait(LONGEST_S)
            took_s = time.monotonic() - began

    assert process.returncode == 0
    assert took_s < AT_ONCE_S
    assert word_of(tmp_path) == BY_LINUX


def test_a_hangup_makes_it_look_at_once_and_each_line_on_stdout_is_an_object(
    tmp_path: Path,
) -> None:
    one_switch(tmp_path)

    with watching(tmp_path) as (process, manager):
        manager.recv(1000)
        set_word_of(tmp_path, BY_LINUX)
        process.send_signal(signal.SIGHUP)
        manager.recv(1000)
        process.send_signal(signal.SIGTERM)
        stdout, stderr = process.communicate(timeout=LONGEST_S)

    lines = [msgspec.json.decode(line, type=NoticeDocument) for line in stdout.splitlines()]
    assert stderr == ""
    assert word_of(tmp_path) == TUNED
    (changed,) = (line for line in lines if line.kind == "changed")
    assert (changed.address, changed.location) == (NIC_PORT, "0000:20:01.0/00.0/04.0")
    assert {"old": "0x005d", "new": "0x001d", "bits": "DirectTrans-"}.items() <= (
        changed.facts.items()
    )


@pytest.mark.parametrize("stderr", [">&-", ">/dev/full"], ids=["closed", "full"])
def test_no_work_ends_for_lack_of_a_listener(stderr: str) -> None:
    told = (
        "from pcietune.cli.watch_telling import teller\n"
        "from pcietune.tune.watch.notice import Notice, NoticeKind\n"
        "teller(as_json=False)(Notice(NoticeKind.REMARK, 'here'))\n"
        "print('goes on')\n"
    )

    run = subprocess.run(
        ["/bin/sh", "-c", f'exec "$0" -c "$1" 2{stderr}', sys.executable, told],
        check=False,  # Python itself may exit 120 when it cannot flush stderr in the end
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
    )

    assert run.stdout == "goes on\n"


def test_a_full_disk_behind_stdout_ends_it_and_is_told_without_a_traceback() -> None:
    told = (
        "import typer\n"
        "from pcietune.cli.watch_telling import teller\n"
        "from pcietune.tune.watch.notice import Notice, NoticeKind\n"
        "try:\n    teller(as_json=True)(Notice(NoticeKind.REMARK, 'here'))\n"
        "except typer.Exit as end:\n    raise SystemExit(end.exit_code)\n"
    )

    with Path("/dev/full").open("w") as full:
        run = subprocess.run(
            [sys.executable, "-c", told],
            check=False,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
        )

    assert run.returncode == 1
    assert run.stderr == "pcietune: the result could not be printed: No space left on device\n"


def word_of(root: Path) -> int:
    (config,) = root.glob(f"sys/devices/**/{NIC_PORT}/config")
    return int.from_bytes(config.read_bytes()[0x106:0x108], "little")


def set_word_of(root: Path, value: int) -> None:
    (config,) = root.glob(f"sys/devices/**/{NIC_PORT}/config")
    data = bytearray(config.read_bytes())
    data[0x106:0x108] = value.to_bytes(2, "little")
    config.write_bytes(data)
