"""The line on stderr of a run that takes long."""

import os
import pty
from collections.abc import Iterator
from contextlib import suppress
from io import StringIO
from pathlib import Path

from cli.as_process import start
from rich.console import Console
from trees.host import TreeHost
from trees.machines import one_switch
from tune.judged import judge, opened

from pcietune.address import PciAddress
from pcietune.cli.progress import Progress

NIC = PciAddress.parse("0000:24:00.0")
VM = ("--profile", "gpu-rdma", "--mode", "vm")
ERASED = "\x1b[2K"
LINE = f"{ERASED}\x1b[2mreading 0000:24:00.0, {{}} functions so far\x1b[0m\r"


class Clock:
    """Tells the seconds that it is given."""

    def __init__(self, *seconds: float) -> None:
        self._seconds: Iterator[float] = iter(seconds)

    def __call__(self) -> float:
        return next(self._seconds)


def shown(*seconds: float, terminal: bool = True, kind: str = "xterm") -> str:
    """Return what is printed of a run that starts at 0 and reads at these seconds."""
    file = StringIO()
    console = Console(
        file=file,
        force_terminal=terminal,
        color_system="standard",
        width=80,
        legacy_windows=False,
        _environ={"TERM": kind},
    )
    progress = Progress(console, Clock(0.0, *seconds))
    for _ in seconds:
        progress.reading(NIC)
    progress.end()
    return file.getvalue()


def test_a_short_run_shows_nothing() -> None:
    assert shown(0.1, 0.5, 0.99) == ""


def test_a_run_of_more_than_a_second_shows_what_it_reads_and_takes_it_away() -> None:
    assert shown(0.5, 1.0) == LINE.format(2) + ERASED


def test_the_line_changes_ten_times_a_second_at_most() -> None:
    assert shown(1.0, 1.05, 1.09, 1.2) == LINE.format(1) + LINE.format(4) + ERASED


def test_a_terminal_that_cannot_erase_a_line_shows_none() -> None:
    assert shown(1.0, 2.0, kind="dumb") == ""


def test_nothing_is_shown_where_stderr_is_no_terminal() -> None:
    assert shown(1.0, 2.0, terminal=False) == ""


def test_each_function_that_is_read_is_told_once(tmp_path: Path) -> None:
    host = opened(one_switch(tmp_path))
    told: list[PciAddress] = []

    with host.watched(told.append):
        judge(host)
        judge(host)

    assert NIC in told
    assert len(set(told)) == len(told)


def _on_a_terminal(host: TreeHost, **environment: str) -> tuple[str, str]:
    """Return what audit prints on stdout and on stderr where both are terminals."""
    readers, writers = zip(*(pty.openpty() for _ in range(2)), strict=True)
    process = start(
        *("audit", "--from", host.root, *VM),
        stdout=writers[0],
        stderr=writers[1],
        environment={"TERM": "xterm", "COLUMNS": "100", **environment},
    )
    process.wait()
    printed = [_available(reader) for reader in readers]
    for descriptor in (*readers, *writers):
        os.close(descriptor)
    return printed[0], printed[1]


def _available(descriptor: int) -> str:
    os.set_blocking(descriptor, False)
    with suppress(BlockingIOError):  # nothing was printed
        return os.read(descriptor, 0x10000).decode()
    return ""


def test_a_terminal_gets_colours_and_after_a_short_run_nothing_else(tmp_path: Path) -> None:
    stdout, stderr = _on_a_terminal(one_switch(tmp_path))

    assert "\x1b[1;31mFAIL" in stdout
    assert stderr == ""


def test_no_color_is_heeded(tmp_path: Path) -> None:
    stdout, _ = _on_a_terminal(one_switch(tmp_path), NO_COLOR="1")

    assert "FAIL" in stdout
    assert "\x1b[1;31m" not in stdout
