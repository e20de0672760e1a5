import os
from pathlib import Path

import pytest

from pcietune.errors import BadInputError
from pcietune.host.text_file import read_text


def test_standard_input_is_read_for_a_dash(tmp_path: Path) -> None:
    (tmp_path / "piped").write_text("one\n")
    before = os.dup(0)
    with (tmp_path / "piped").open() as piped:
        os.dup2(piped.fileno(), 0)
    try:
        assert read_text(Path("-"), hint="") == "one\n"
    finally:
        os.dup2(before, 0)
        os.close(before)


def test_a_text_may_be_as_long_as_is_said_and_no_longer(tmp_path: Path) -> None:
    file = tmp_path / "text"
    file.write_bytes(b"x" * 0x10_0000)
    assert len(read_text(file, hint="", largest_mib=1)) == 0x10_0000

    file.write_bytes(b"x" * 0x10_0001)
    with pytest.raises(BadInputError, match="larger than 1 MiB") as error:
        read_text(file, hint="give less", largest_mib=1)
    assert error.value.hint == "give less"
