import os
from pathlib import Path

import pytest

from pcietune.host.host_files import HostFiles
from pcietune.host.run.boot_guard import read_boot_guard

THIS = "3d1f3a2e-0c43-4a5b-9a52-2f5d7f4c8e01"
THREE_BOOTS = f"one\nother\n{THIS}\n"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    directory = tmp_path / "run/pcietune"
    directory.mkdir(parents=True)
    return directory


def failed_boots(root: Path) -> int | None:
    return read_boot_guard(HostFiles(root, recorded=False), THIS).failed_boots


def test_the_list_of_this_boot_is_believed(run: Path, tmp_path: Path) -> None:
    (run / "boot-attempts").write_text(THREE_BOOTS)

    assert failed_boots(tmp_path) == 2


def test_without_a_list_nothing_is_known(tmp_path: Path) -> None:
    assert failed_boots(tmp_path) is None


def test_bytes_that_are_no_text_are_a_boot_whose_note_was_torn(run: Path, tmp_path: Path) -> None:
    (run / "boot-attempts").write_bytes(b"\xff\xfe\x00\none\n" + THIS.encode())

    assert failed_boots(tmp_path) == 2


def test_a_list_that_others_could_have_made_is_not_believed(run: Path, tmp_path: Path) -> None:
    file = run / "boot-attempts"
    file.write_text(THREE_BOOTS)
    file.chmod(0o666)

    assert failed_boots(tmp_path) is None


def test_neither_a_link_nor_a_pipe_is_followed(run: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text(THREE_BOOTS)
    (run / "boot-attempts").symlink_to(tmp_path / "elsewhere")
    assert failed_boots(tmp_path) is None

    (run / "boot-attempts").unlink()
    os.mkfifo(run / "boot-attempts")
    assert failed_boots(tmp_path) is None
