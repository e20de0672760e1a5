import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from pcietune.errors import BadInputError
from pcietune.host.text_file import read_text


@pytest.fixture
def piped(tmp_path: Path) -> Iterator[Path]:
    """Standard input with a line in it, by its name on the command line."""
    (tmp_path / "piped").write_text("one\n")
    before = os.dup(0)
    with (tmp_path / "piped").open() as opened:
        os.dup2(opened.fileno(), 0)
    yield Path("-")
    os.dup2(before, 0)
    os.close(before)


def test_standard_input_is_read_for_a_dash(piped: Path) -> None:
    assert read_text(piped, hint="") == "one\n"


def test_standard_input_that_is_two_files_is_empty_the_second_time(piped: Path) -> None:
    read_text(piped, hint="")

    with pytest.raises(BadInputError, match="read already"):
        read_text(piped, hint="")


def test_a_text_may_be_as_long_as_is_said_and_no_longer(tmp_path: Path) -> None:
    file = tmp_path / "text"
    file.write_bytes(b"x" * 0x10_0000)
    assert len(read_text(file, hint="", largest_mib=1)) == 0x10_0000

    file.write_bytes(b"x" * 0x10_0001)
    with pytest.raises(BadInputError, match="larger than 1 MiB") as error:
        read_text(file, hint="give less", largest_mib=1)
    assert error.value.hint == "give less"
