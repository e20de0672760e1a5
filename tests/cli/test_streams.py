"""What goes where: results, complaints, colours; and what a signal or a closed pipe does."""

import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from cli.as_process import finish, start
from cli.in_process import Pcietune
from trees.machines import one_switch

ESCAPE = "\x1b["


def _on_a_terminal(*arguments: str | Path, environment: Mapping[str, str]) -> str:
    """Return what the command prints where stdout is a terminal."""
    ours, theirs = pty.openpty()
    process = start(*arguments, stdout=theirs, environment={"TERM": "xterm", **environment})
    os.close(theirs)
    printed = b""
    try:
        while data := os.read(ours, 0x10000):
            printed += data
    except OSError:  # EIO: the terminal's other end was closed
        pass
    finally:
        os.close(ours)
    finish(process)
    return printed.decode()


def test_complaints_go_to_stderr(pcietune: Pcietune, tmp_path: Path) -> None:
    one_switch(tmp_path)

    run = pcietune("audit", "--from", tmp_path)

    assert "no mode is set" in run.stderr
    assert "no mode is set" not in run.stdout


def test_a_json_document_stands_alone_on_stdout_and_its_errors_are_in_it(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    one_switch(tmp_path)

    run = pcietune("audit", "--from", tmp_path, "--json")

    assert [error.message for error in run.document().errors] == [
        "no mode is set, and pcietune does not guess whether this host serves VMs"
    ]
    assert run.stderr == ""


@pytest.mark.parametrize("command", ["audit", "status", "plan"])
def test_there_is_no_colour_in_a_pipe(tmp_path: Path, command: str) -> None:
    one_switch(tmp_path)

    _, stdout, stderr = finish(start(command, "--from", tmp_path, "--mode", "vm"))

    assert stdout
    assert ESCAPE not in stdout + stderr


def test_failures_are_coloured_on_a_terminal(tmp_path: Path) -> None:
    one_switch(tmp_path)

    printed = _on_a_terminal("audit", "--from", tmp_path, "--mode", "vm", environment={})

    assert f"{ESCAPE}1;31mFAIL" in printed


@pytest.mark.parametrize("columns", ["40", "80", "130"])
def test_a_tree_on_a_narrow_terminal_loses_no_word(tmp_path: Path, columns: str) -> None:
    one_switch(tmp_path, driver="vfio-pci")
    command = ("topo", "--from", tmp_path)

    coloured = _on_a_terminal(*command, environment={"COLUMNS": columns})

    printed = re.sub(r"\x1b\[[0-9;]*m", "", coloured)
    _, plain, _ = finish(start(*command))
    assert max(map(len, printed.splitlines())) <= int(columns)
    assert re.findall(r"[\w.:+-]+", plain) == re.findall(r"[\w.:+-]+", printed)


def test_no_color_is_heeded(tmp_path: Path) -> None:
    one_switch(tmp_path)

    printed = _on_a_terminal(
        "audit", "--from", tmp_path, "--mode", "vm", environment={"NO_COLOR": "1"}
    )

    assert "FAIL" in printed
    assert f"{ESCAPE}1;31m" not in printed
    assert f"{ESCAPE}31m" not in printed


def test_topo_is_a_tree_on_a_terminal_and_plain_in_a_pipe(tmp_path: Path) -> None:
    one_switch(tmp_path)

    on_a_terminal = _on_a_terminal("topo", "--from", tmp_path, environment={})
    _, piped, _ = finish(start("topo", "--from", tmp_path))

    assert "└──" in on_a_terminal
    assert [line.strip().split()[0] for line in piped.splitlines()] == [
        "0000:20:01.0", "0000:21:00.0", "0000:22:00.0", "0000:23:00.0", "0000:22:04.0",
        "0000:24:00.0",
    ]  # fmt: skip
    assert "─" not in piped


@pytest.mark.parametrize("json", [(), ("--json",)], ids=["text", "json"])
def test_a_reader_that_leaves_early_gets_no_traceback(tmp_path: Path, json: tuple[str]) -> None:
    one_switch(tmp_path)
    reader, writer = os.pipe()
    os.close(reader)

    process = start("audit", "--from", tmp_path, "--mode", "vm", *json, stdout=writer)
    os.close(writer)
    exit_code, _, stderr = finish(process)

    assert (exit_code, stderr) == (1, "")


def _open_once_it_is_read(fifo: Path, process: subprocess.Popen[str]) -> int:
    while process.poll() is None:
        try:
            return os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:  # ENXIO: nobody reads yet
            time.sleep(0.02)
    pytest.fail(f"pcietune ended before it read: {finish(process)}")


def _interrupt_until_it_ends(process: subprocess.Popen[str]) -> None:
    """Send SIGINT as an impatient user does; Python drops one that comes inside a destructor."""
    for _ in range(100):
        process.send_signal(signal.SIGINT)
        try:
            process.wait(timeout=0.5)
        except subprocess.TimeoutExpired:
            continue
        return


STRUCK_WHILE_LOADING = """
import os, signal, sys
from pcietune.__main__ import main

class Strike:
    def find_spec(self, name, path, target=None):
        if name == "typer":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Strike())
main()
"""


def test_an_interrupt_while_it_loads_ends_it_in_silence() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", STRUCK_WHILE_LOADING],
        capture_output=True,
        check=False,
        cwd=Path(__file__).parents[2],
    )

    assert (ended.returncode, ended.stderr) == (-signal.SIGINT, b"")


def test_an_interrupt_while_it_reads_exits_130_in_silence(tmp_path: Path) -> None:
    archive = tmp_path / "host.tar"
    os.mkfifo(archive)

    process = start("audit", "--from", archive, "--mode", "vm", "--json")
    writer = _open_once_it_is_read(archive, process)
    _interrupt_until_it_ends(process)
    ended = finish(process)
    os.close(writer)

    assert ended == (130, "", "")


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGHUP])
def test_what_was_unpacked_is_removed_when_it_is_told_to_stop(
    tmp_path: Path, stop: signal.Signals
) -> None:
    archive, temporary = tmp_path / "host.tar", tmp_path / "temporary"
    os.mkfifo(archive)
    temporary.mkdir()

    process = start("audit", "--from", archive, environment={"TMPDIR": str(temporary)})
    writer = _open_once_it_is_read(archive, process)
    assert len(list(temporary.iterdir())) == 1
    process.send_signal(stop)
    ended = finish(process)
    os.close(writer)

    assert ended == (130, "", "")
    assert list(temporary.iterdir()) == []


def test_an_interrupt_while_it_waits_for_another_exits_130(tmp_path: Path) -> None:
    one_switch(tmp_path)
    (tmp_path / "run/pcietune").mkdir(parents=True)
    lock = tmp_path / "run/pcietune/lock"

    with subprocess.Popen(
        ["flock", str(lock), "sh", "-c", "echo held; cat"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        process = start("apply", "--from", tmp_path, "--in-place", "--mode", "vm", "--wait", "60")
        assert process.stderr is not None
        waiting = process.stderr.readline()
        process.send_signal(signal.SIGINT)
        ended = finish(process)
        holder.communicate()

    assert waiting == "pcietune: waiting for another pcietune\n"
    assert ended == (130, "", "")
