from pathlib import Path

import pytest

from pcietune.errors import BadInputError
from pcietune.host.measured_file import read_measured


def test_a_file_is_read_in_lines(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("one\r\ntwo\n")

    assert read_measured(tmp_path / "out") == ["one", "two"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        pytest.param(None, "No such file", id="absent"),
        pytest.param(b"one\n\xff\n", "out:2: no text in UTF-8", id="no text"),
        pytest.param(b"0\n" * 0x20_0001, "larger than 4 MiB", id="large"),
    ],
)
def test_what_is_no_text_is_refused(tmp_path: Path, data: bytes | None, message: str) -> None:
    if data is not None:
        (tmp_path / "out").write_bytes(data)

    with pytest.raises(BadInputError, match=message) as error:
        read_measured(tmp_path / "out")

    assert error.value.hint


def test_a_directory_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="Is a directory"):
        read_measured(tmp_path)
