"""Each row of Fabric Manager's tables, as the Fabric Manager User Guide has it."""

import pytest

from pcietune.errors import BadInputError
from pcietune.guest.nvswitch.board import BOARDS, board_named, board_with_modules
from pcietune.guest.nvswitch.partition import Partition, partition_numbered

_AMPERE = [
    (0, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}),
    (1, {1, 2, 3, 4, 5, 6, 7, 8}),
    (2, {9, 10, 11, 12, 13, 14, 15, 16}),
    (3, {1, 2, 3, 4, 9, 10, 11, 12}),
    (4, {5, 6, 7, 8, 13, 14, 15, 16}),
    (5, {1, 2, 3, 4, 13, 14, 15, 16}),
    (6, {5, 6, 7, 8, 9, 10, 11, 12}),
    (7, {1, 2, 3, 4}),
    (8, {5, 6, 7, 8}),
    (9, {9, 10, 11, 12}),
    (10, {13, 14, 15, 16}),
    (11, {1, 2}),
    (12, {3, 4}),
    (13, {5, 6}),
    (14, {7, 8}),
    (15, {9, 10}),
    (16, {11, 12}),
    (17, {13, 14}),
    (18, {15, 16}),
    (19, {1}),
    (20, {2}),
    (21, {3}),
    (22, {4}),
    (23, {5}),
    (24, {6}),
    (25, {7}),
    (26, {8}),
    (27, {9}),
    (28, {10}),
    (29, {11}),
    (30, {12}),
    (31, {13}),
    (32, {14}),
    (33, {15}),
    (34, {16}),
]
_HOPPER = [
    (0, {1, 2, 3, 4, 5, 6, 7, 8}),
    (1, {1, 2, 3, 4}),
    (2, {5, 6, 7, 8}),
    (3, {1, 3}),
    (4, {2, 4}),
    (5, {5, 7}),
    (6, {6, 8}),
    (7, {1}),
    (8, {2}),
    (9, {3}),
    (10, {4}),
    (11, {5}),
    (12, {6}),
    (13, {7}),
    (14, {8}),
]
_BLACKWELL = [
    (1, {1, 2, 3, 4, 5, 6, 7, 8}),
    (2, {1, 2, 3, 4}),
    (3, {5, 6, 7, 8}),
    (4, {1, 2}),
    (5, {3, 4}),
    (6, {5, 6}),
    (7, {7, 8}),
    (8, {1}),
    (9, {2}),
    (10, {3}),
    (11, {4}),
    (12, {5}),
    (13, {6}),
    (14, {7}),
    (15, {8}),
]
_ONE_BOARD = (1, 7, 8, 11, 12, 13, 14, 19, 20, 21, 22, 23, 24, 25, 26)
_TOP_TRAY = (2, 9, 10, 15, 16, 17, 18, 27, 28, 29, 30, 31, 32, 33, 34)
_AMPERE_ONE = [row for row in _AMPERE if row[0] in _ONE_BOARD]
_AMPERE_TOP = [row for row in _AMPERE if row[0] in _TOP_TRAY]
_TABLES = {
    "a100": (_AMPERE_ONE, 12),
    "a100-top": (_AMPERE_TOP, 12),
    "a100-two": (_AMPERE, 12),
    "a800": (_AMPERE_ONE, 8),
    "a800-top": (_AMPERE_TOP, 8),
    "a800-two": (_AMPERE, 8),
    "hopper": (_HOPPER, 18),
    "h800": (_HOPPER, 8),
    "blackwell": (_BLACKWELL, 18),
}
_ROWS = [
    pytest.param(name, number, modules, links if len(modules) > 1 else 0, id=f"{name}-{number}")
    for name, (rows, links) in _TABLES.items()
    for number, modules in rows
]


@pytest.mark.parametrize(("name", "number", "modules", "links"), _ROWS)
def test_a_row_is_that_of_the_guide(name: str, number: int, modules: set[int], links: int) -> None:
    found = partition_numbered(board_named(name).partitions, number)

    assert found == Partition(number, frozenset(modules), links)


@pytest.mark.parametrize("name", _TABLES)
def test_a_board_has_no_other_partitions(name: str) -> None:
    rows, _ = _TABLES[name]

    numbers = [partition.number for partition in board_named(name).partitions]

    assert numbers == [number for number, _ in rows]


def test_every_board_is_held_to_the_guide() -> None:
    assert {board.name for board in BOARDS} == set(_TABLES)


_SHAPES = {  # GPUs, NVSwitches and links of a GPU; None where the guide does not tell
    "a100": [(8, 6, 12), (4, 3, 6), (2, 1, 2), (1, 0, 0)],
    "a100-top": [(8, 6, 12), (4, 3, 6), (2, 1, 2), (1, 0, 0)],
    "a100-two": [(16, 12, 12), (8, 6, 12), (4, 3, 6), (2, 1, 2), (1, 0, 0)],
    "a800": [(8, 6, 8), (4, 3, None), (2, 1, None), (1, 0, 0)],
    "a800-top": [(8, 6, 8), (4, 3, None), (2, 1, None), (1, 0, 0)],
    "a800-two": [(16, 12, 8), (8, 6, 8), (4, 3, None), (2, 1, None), (1, 0, 0)],
    "hopper": [(8, 4, 18), (1, 0, 0)],
    "h800": [(8, 4, 8), (1, 0, 0)],
    "blackwell": [(8, 0, 18), (1, 0, 0)],
}


@pytest.mark.parametrize("name", _SHAPES)
def test_what_a_vm_may_be_given_whole_is_that_of_the_guide(name: str) -> None:
    shapes = board_named(name).shapes

    assert [(shape.gpus, shape.switches, shape.links) for shape in shapes] == _SHAPES[name]


@pytest.mark.parametrize(("name", "gpus"), [("a100", 8), ("a100-two", 16), ("hopper", 8)])
def test_a_board_has_as_many_gpus_as_its_largest_partition(name: str, gpus: int) -> None:
    assert board_named(name).gpus == gpus


def test_a_board_that_nobody_knows_is_answered_with_those_known() -> None:
    with pytest.raises(BadInputError, match="no board") as raised:
        board_named("gb200")

    assert raised.value.hint.startswith("one of a100, a100-top, a100-two")


def test_one_ampere_board_is_of_the_tray_that_its_modules_show() -> None:
    a800 = board_named("a800")

    assert board_with_modules(a800, [1, 8]) is a800
    assert board_with_modules(a800, []) is a800
    assert board_with_modules(a800, [9, 16]).name == "a800-top"


@pytest.mark.parametrize(
    ("name", "modules"), [("a800", [8, 9]), ("hopper", [9]), ("a100-two", [17]), ("blackwell", [0])]
)
def test_a_module_that_a_board_has_not_is_refused(name: str, modules: list[int]) -> None:
    with pytest.raises(BadInputError, match="not on HGX"):
        board_with_modules(board_named(name), modules)
