import os
from pathlib import Path

import pytest

from pcietune.errors import BadInputError, NotPermittedError
from pcietune.host.result_file import check_place, result_file


def write(file: Path, data: bytes) -> None:
    with result_file(file) as opened:
        opened.write(data)


def write_half(file: Path) -> None:
    with result_file(file) as opened:
        opened.write(b"half")
        raise KeyError


def test_a_file_is_written_and_replaces_the_one_before(tmp_path: Path) -> None:
    file = tmp_path / "audit.xml"

    write(file, b"one")
    write(file, b"other")

    assert file.read_bytes() == b"other"
    assert file.stat().st_mode & 0o777 == 0o644
    assert list(tmp_path.iterdir()) == [file]


def test_a_writer_that_fails_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "audit.xml"
    write(file, b"one")

    with pytest.raises(KeyError):
        write_half(file)

    assert file.read_bytes() == b"one"
    assert list(tmp_path.iterdir()) == [file]


def test_what_is_no_file_is_never_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    with pytest.raises(BadInputError, match="is there and is no file, so it is not replaced"):
        write(pipe, b"")

    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]


@pytest.mark.parametrize("name", ["", ".", "missing/file"])
def test_a_place_where_no_file_can_be_is_bad_input(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadInputError, match="it is a directory, or is in none"):
        check_place(tmp_path / name)


def test_a_directory_that_takes_no_file_is_told() -> None:
    with pytest.raises(NotPermittedError, match=r"cannot write /sys/audit\.xml: ") as refusal:
        write(Path("/sys/audit.xml"), b"")

    assert refusal.value.hint == "name a file in another place"
