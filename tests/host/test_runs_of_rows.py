"""Rows that are read many at once are what they are one by one, and refused by their own line."""

from pathlib import Path

import pytest
from host.dumped import opened, refused
from trees.dump import dump, one_switch_functions
from trees.function import gpu, root_port

_ROWS_OF_A_FUNCTION = 256


def _gpus(count: int) -> str:
    """Return root ports with a GPU below each, one bus for each."""
    functions = []
    for bus in range(1, count + 1):
        port = f"0000:00:{bus >> 3:02x}.{bus & 7}"
        functions += [root_port(port), gpu(f"0000:{bus:02x}:00.0", below=port)]
    return dump(functions)


def test_rows_with_and_without_carriage_returns_are_the_same_bytes(tmp_path: Path) -> None:
    text = dump(one_switch_functions())

    with opened(tmp_path, text) as host:
        at_once = [host.config(f).read(0x100, 4) for f in host.functions()]
    with opened(tmp_path, text.replace("\n", "\r\n")) as host:
        one_by_one = [host.config(f).read(0x100, 4) for f in host.functions()]

    assert at_once == one_by_one
    assert any(at_once)


def test_a_run_may_be_cut_by_the_size_that_is_read_at_once(tmp_path: Path) -> None:
    text = _gpus(200)
    assert len(text) > 4 << 20

    with opened(tmp_path, text) as host:
        gpus = [f for f in host.functions() if f.vendor == 0x10DE]
        assert len(gpus) == 200
        assert {host.config(f).read(0x00, 4) for f in gpus} == {0x20F310DE}


@pytest.mark.parametrize("row", [1, 2, 100, 255])
@pytest.mark.parametrize("damage", ["missing", "doubled", "letter", "cut"])
def test_a_damaged_row_in_a_run_is_refused_by_its_line(
    tmp_path: Path, damage: str, row: int
) -> None:
    lines = dump(one_switch_functions()).split("\n")
    at = 2 * (_ROWS_OF_A_FUNCTION + 2) + 1 + row  # of the third function, behind its name
    match damage:
        case "missing":
            del lines[at]
        case "doubled":
            lines.insert(at, lines[at])
            at += 1
        case "letter":
            lines[at] = lines[at].replace(" 00", " 0g", 1).replace(" ff", " fg", 1)
        case _:
            lines[at] = lines[at][:-2]

    why = refused(tmp_path, "\n".join(lines))

    expected = 2 * (_ROWS_OF_A_FUNCTION + 2) + 1 if row == 255 and damage == "missing" else at + 1
    assert why.startswith(f"1.txt:{expected}: ")
