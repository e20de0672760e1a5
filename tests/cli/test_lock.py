"""Two of them at the same time on one host."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from cli.as_process import finish, start
from cli.in_process import Pcietune
from trees.machines import one_switch

from pcietune.host.recordings.archive import pack

VM = ("--profile", "gpu-rdma", "--mode", "vm")


@contextmanager
def held(root: Path) -> Iterator[subprocess.Popen[str]]:
    """Hold the host's lock in another process, until its stdin is closed."""
    lock = root / "run/pcietune/lock"
    lock.parent.mkdir(parents=True, exist_ok=True)
    lock.write_text("pid 4711, apply")
    with subprocess.Popen(
        ["flock", lock, "sh", "-c", "echo held; cat"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        yield holder


@pytest.mark.parametrize("command", [("apply", *VM), ("restore",)], ids=["apply", "restore"])
def test_a_second_one_gives_up_after_its_time_and_says_for_whom(
    pcietune: Pcietune, tmp_path: Path, command: tuple[str, ...]
) -> None:
    one_switch(tmp_path)

    with held(tmp_path):
        run = pcietune(*command, "--from", tmp_path, "--in-place", "--wait", "0")

    assert run.exit_code == 10
    assert run.stderr == (
        "pcietune: another pcietune (pid 4711, apply) is at work on this host\n"
        "  try: run pcietune again when it has ended\n"
    )


def test_a_second_one_waits_and_then_goes_on(tmp_path: Path) -> None:
    one_switch(tmp_path)

    with held(tmp_path) as holder:
        process = start("apply", "--from", tmp_path, "--in-place", *VM, "--wait", "60")
        assert process.stderr is not None
        waiting = process.stderr.readline()
        holder.communicate()
        exit_code, stdout, stderr = finish(process)

    assert waiting == "pcietune: waiting for another pcietune (pid 4711, apply)\n"
    assert (exit_code, stderr) == (0, "")
    assert "0x001d -> 0x005d" in stdout


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    archive = tmp_path / "host.tar"
    pack(one_switch(tmp_path / "host").root, archive)
    return archive


@contextmanager
def _archive_held(archive: Path, then: str = "") -> Iterator[subprocess.Popen[str]]:
    """Hold an archive in another process, until its stdin is closed and ``then`` was run."""
    with subprocess.Popen(
        ["flock", archive, "sh", "-c", f"echo held; cat; {then}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=archive.parent,
    ) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        yield holder


@pytest.mark.parametrize("command", [("apply", *VM), ("restore",)], ids=["apply", "restore"])
def test_a_second_one_in_place_of_the_same_archive_gives_up_after_its_time(
    pcietune: Pcietune, archive: Path, command: tuple[str, ...]
) -> None:
    before = archive.read_bytes()

    with _archive_held(archive):
        run = pcietune(*command, "--from", archive, "--in-place", "--wait", "0")

    assert run.exit_code == 10
    assert run.stderr == (
        f"pcietune: another pcietune is at work on {archive}\n"
        "  try: run pcietune again when it has ended\n"
    )
    assert archive.read_bytes() == before


def test_a_second_one_goes_on_with_what_the_first_made_of_the_archive(
    pcietune: Pcietune, archive: Path
) -> None:
    pcietune("apply", "--from", archive, "--to", archive.with_name("b.tar"), *VM)

    with _archive_held(archive, then="mv b.tar host.tar") as holder:
        process = start("restore", "--from", archive, "--in-place", "--wait", "60")
        assert process.stderr is not None
        waiting = process.stderr.readline()
        holder.communicate()
        exit_code, stdout, stderr = finish(process)

    assert waiting == "pcietune: waiting for another pcietune\n"
    assert (exit_code, stderr) == (0, "")
    assert "0x005d -> 0x001d" in stdout


def test_an_archive_that_others_read_or_copy_is_not_waited_for(
    pcietune: Pcietune, archive: Path, tmp_path: Path
) -> None:
    with _archive_held(archive):
        read = pcietune("status", "--from", archive, *VM)
        copied = pcietune(
            "apply", "--from", archive, "--to", tmp_path / "b.tar", *VM, "--wait", "0"
        )

    assert (read.exit_code, read.stderr) == (0, "")
    assert (copied.exit_code, copied.stderr) == (0, "")


@pytest.mark.parametrize("command", ["status", "audit", "plan"])
def test_the_reading_commands_do_not_wait(pcietune: Pcietune, tmp_path: Path, command: str) -> None:
    one_switch(tmp_path)

    with held(tmp_path):
        run = pcietune(command, "--from", tmp_path, *VM)

    assert run.exit_code == (0 if command == "status" else 3)
    assert run.stderr == ""


def test_the_lock_ends_with_the_run(pcietune: Pcietune, tmp_path: Path) -> None:
    one_switch(tmp_path)
    apply = ("apply", "--from", tmp_path, "--in-place", *VM, "--wait", "0")

    assert pcietune(*apply).exit_code == 0
    assert pcietune(*apply).exit_code == 0
    assert (tmp_path / "run/pcietune/lock").read_text() == ""
