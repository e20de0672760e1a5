"""Recorded hosts: what is true of the host is true of its archive, and writing stays in it."""

import tarfile
from dataclasses import replace
from pathlib import Path

import pytest
from cli.in_process import Pcietune
from trees.function import downstream_port
from trees.machines import one_switch

NIC_PORT = "0000:22:04.0"
VM = ("--profile", "gpu-rdma", "--mode", "vm")
UNDO_RECORD = "run/pcietune/undo.jsonl"


@pytest.fixture
def archive(pcietune: Pcietune, tmp_path: Path) -> Path:
    """Return the archive of a host that lacks DirectTrans."""
    file = tmp_path / "a.tar"
    host = one_switch(tmp_path / "host")
    host.put("proc/cmdline", "ro quiet pci=realloc")
    host.put("proc/kallsyms", "0000000000000000 t __pci_config_acs")
    assert pcietune("record", file, "--from", host.root).exit_code == 0
    return file


def _names(archive: Path) -> set[str]:
    with tarfile.open(archive) as tar:
        return set(tar.getnames())


@pytest.mark.parametrize(
    "command",
    [
        ("audit", *VM, "--json"),
        ("audit", *VM, "--passes"),
        ("plan", *VM, "--json"),
        ("topo", "--json"),
        ("topo",),
        ("status", "--mode", "vm"),
        ("profile", "match"),
    ],
    ids=lambda command: " ".join(command[:1] + command[-1:]),
)
def test_an_archive_is_judged_as_its_host_is(
    pcietune: Pcietune, archive: Path, command: tuple[str, ...]
) -> None:
    host = archive.parent / "host"

    from_host = pcietune(*command, "--from", host)
    from_archive = pcietune(*command, "--from", archive)

    assert from_archive == from_host


def test_record_says_how_many_functions_there_are(pcietune: Pcietune, tmp_path: Path) -> None:
    host = one_switch(tmp_path / "host")

    run = pcietune("record", tmp_path / "a.tar.gz", "--from", host.root)

    assert (run.exit_code, run.stdout) == (0, f"recorded 6 functions in {tmp_path}/a.tar.gz\n")


def test_a_recording_of_what_others_than_root_see_is_written_and_exits_5(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    port = downstream_port(NIC_PORT, below="0000:21:00.0")
    host = one_switch(tmp_path / "host", instead=[replace(port, config=port.config.cut(64))])

    run = pcietune("record", tmp_path / "a.tar", "--from", host.root)

    assert run.exit_code == 5
    assert run.stdout == f"recorded 6 functions in {tmp_path}/a.tar\n"
    assert run.stderr == (
        "pcietune: 1 of 6 functions: only the first 64 bytes could be read, too little to judge "
        "them by\n  try: record the host as root\n"
    )
    assert pcietune("topo", "--from", tmp_path / "a.tar").exit_code == 5


def test_apply_from_one_archive_to_another_leaves_the_first_as_it_is(
    pcietune: Pcietune, archive: Path, tmp_path: Path
) -> None:
    before, tuned = archive.read_bytes(), tmp_path / "b.tar"

    run = pcietune("apply", "--from", archive, "--to", tuned, *VM)

    assert run.exit_code == 0
    assert archive.read_bytes() == before
    assert pcietune("audit", "--from", archive, *VM).exit_code == 3
    assert pcietune("audit", "--from", tuned, *VM).exit_code == 0


def test_apply_from_a_directory_to_an_archive_leaves_the_directory_as_it_is(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    host = one_switch(tmp_path / "host")
    before = host.config(NIC_PORT).read_bytes()

    run = pcietune("apply", "--from", host.root, "--to", tmp_path / "b.tar", *VM)

    assert run.exit_code == 0
    assert host.config(NIC_PORT).read_bytes() == before
    assert not (host.root / "run").exists()
    assert pcietune("audit", "--from", tmp_path / "b.tar", *VM).exit_code == 0


def test_apply_in_place_changes_the_archive(pcietune: Pcietune, archive: Path) -> None:
    run = pcietune("apply", "--from", archive, "--in-place", *VM)

    assert run.exit_code == 0
    assert pcietune("audit", "--from", archive, *VM).exit_code == 0


def test_an_apply_that_fails_leaves_no_result(
    pcietune: Pcietune, archive: Path, tmp_path: Path
) -> None:
    run = pcietune("apply", "--from", archive, "--to", tmp_path / "b.tar", "--profile", "nope")

    assert run.exit_code == 4
    assert not (tmp_path / "b.tar").exists()


def test_the_undo_record_is_in_the_archive_and_restore_goes_by_it(
    pcietune: Pcietune, archive: Path, tmp_path: Path
) -> None:
    tuned, restored = tmp_path / "b.tar", tmp_path / "c.tar"
    pcietune("apply", "--from", archive, "--to", tuned, *VM)

    run = pcietune("restore", "--from", tuned, "--to", restored)

    assert UNDO_RECORD not in _names(archive)
    assert UNDO_RECORD in _names(tuned)
    assert run.exit_code == 0
    assert f"{NIC_PORT}  ACSCtl at 0x106: 0x005d -> 0x001d (mask 0x0040)" in run.stdout
    assert pcietune("audit", "--from", restored, *VM).exit_code == 3


def test_a_second_apply_writes_nothing(pcietune: Pcietune, archive: Path) -> None:
    pcietune("apply", "--from", archive, "--in-place", *VM)
    before = archive.read_bytes()

    run = pcietune("apply", "--from", archive, "--in-place", *VM)

    assert run.exit_code == 0
    assert "nothing was written" in run.stdout
    assert archive.read_bytes() == before


def test_a_second_restore_puts_nothing_back(pcietune: Pcietune, archive: Path) -> None:
    pcietune("apply", "--from", archive, "--in-place", *VM)
    pcietune("restore", "--from", archive, "--in-place")

    run = pcietune("restore", "--from", archive, "--in-place")

    assert run.exit_code == 0
    assert "nothing to put back" in run.stdout


def test_what_somebody_else_put_back_needs_no_restore(pcietune: Pcietune, tmp_path: Path) -> None:
    host = one_switch(tmp_path)
    pcietune("apply", "--from", tmp_path, "--in-place", *VM)
    config = host.config(NIC_PORT)
    config.write_bytes(config.read_bytes().replace(b"\x5f\x00\x5d\x00", b"\x5f\x00\x1d\x00"))

    run = pcietune("restore", "--from", tmp_path, "--in-place")

    assert run.exit_code == 0
    assert "nothing to put back" in run.stdout


def test_only_the_asked_bit_of_the_asked_port_is_written(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    host = one_switch(tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("config")}

    pcietune("apply", "--from", tmp_path, "--in-place", *VM)

    differing = {
        (path.parent.name, offset, old, new)
        for path, data in before.items()
        for offset, (old, new) in enumerate(zip(data, path.read_bytes(), strict=True))
        if old != new
    }
    assert differing == {(NIC_PORT, 0x106, 0x1D, 0x5D)}
    assert host.config(NIC_PORT) in before
