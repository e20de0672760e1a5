"""Signals while apply and restore are at work: what is done is told, and told truly."""

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from trees.fabrics import two_switches
from trees.host import TreeHost
from tune.faults import word

from pcietune.report.document import Document

ACT_AT = Path(__file__).parents[1] / "bench/guest_parts/act_at.py"
PORTS = ("0000:22:04.0", "0000:22:08.0", "0000:42:04.0", "0000:42:08.0")
BY_LINUX, TUNED = 0x001D, 0x005D
APPLY = ("apply", "--profile", "gpu-rdma", "--mode", "vm")


def with_signal(
    host: TreeHost, at: tuple[str, str, str, int], *command: str, prefix: tuple[str, ...] = ()
) -> tuple[int, str]:
    """Run a command that gets a signal at a call; return its exit code and stdout.

    ``at`` is the signal, ``before`` or ``after``, a function of os, and at which of its calls.
    """
    signal, when, function, number = at
    act = (when, function, str(number), f"kill -{signal.removeprefix('SIG')} $PCIETUNE")
    where = ("--from", str(host.root), "--in-place", "--json")
    ended = subprocess.run(
        [*prefix, sys.executable, str(ACT_AT), *act, *command, *where],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        cwd=Path(__file__).parents[2],
        env={"PYTHONPATH": str(Path(__file__).parents[2]), "PATH": os.defpath},
    )
    assert "Traceback" not in ended.stderr
    return ended.returncode, ended.stdout


def words(host: TreeHost) -> list[int]:
    return [word(host, address) for address in PORTS]


STRUCK_WHILE_ENDING = """
import atexit, os, signal, sys
from pcietune.__main__ import main

atexit.register(os.kill, os.getpid(), signal.Signals[sys.argv.pop()])
main()
"""


@pytest.mark.parametrize("signal", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_after_all_is_told_does_not_change_the_exit_code(
    tmp_path: Path, signal: str
) -> None:
    host = two_switches(tmp_path)

    ended = subprocess.run(
        [
            *(sys.executable, "-c", STRUCK_WHILE_ENDING),
            *(*APPLY, "--from", str(host.root), "--in-place", signal),
        ],
        capture_output=True,
        check=False,
        cwd=Path(__file__).parents[2],
    )

    assert (ended.returncode, ended.stderr) == (0, b"")
    assert words(host) == [TUNED] * 4


@pytest.mark.parametrize("signal", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_between_two_writes_undoes_the_run_and_exits_130(
    tmp_path: Path, signal: str
) -> None:
    host = two_switches(tmp_path)

    assert with_signal(host, (signal, "after", "pwrite", 2), *APPLY) == (130, "")
    assert words(host) == [BY_LINUX] * 4


def test_a_signal_after_the_last_write_stood_does_not_make_apply_claim_that_all_was_undone(
    tmp_path: Path,
) -> None:
    host = two_switches(tmp_path)

    # the lock is signed first, the undo record cut to its whole lines; then the lock is let go
    exit_code, stdout = with_signal(host, ("SIGINT", "before", "ftruncate", 3), *APPLY)

    assert words(host) == [TUNED] * 4
    told = msgspec.json.decode(stdout, type=Document)
    assert (exit_code, told.exit, told.changed, len(told.writes)) == (0, 0, True, 4)


def test_a_signal_after_the_last_bit_was_put_back_does_not_keep_restore_from_telling(
    tmp_path: Path,
) -> None:
    host = two_switches(tmp_path)
    with_signal(host, ("SIGINT", "before", "ftruncate", 99), *APPLY)

    exit_code, stdout = with_signal(host, ("SIGINT", "before", "ftruncate", 3), "restore")

    assert words(host) == [BY_LINUX] * 4
    told = msgspec.json.decode(stdout, type=Document)
    assert (exit_code, told.changed, len(told.writes)) == (0, True, 4)


def test_a_hangup_that_nohup_has_ignored_ends_nothing(tmp_path: Path) -> None:
    host = two_switches(tmp_path)

    exit_code, _ = with_signal(host, ("SIGHUP", "after", "pwrite", 1), *APPLY, prefix=("nohup",))

    assert exit_code == 0
    assert words(host) == [TUNED] * 4
