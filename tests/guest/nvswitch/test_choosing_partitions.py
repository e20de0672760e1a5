"""Free partitions, overlaps and the partition of given GPUs, by brute force."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcietune.errors import BadInputError
from pcietune.guest.nvswitch.board import BOARDS, Board, board_named
from pcietune.guest.nvswitch.listing import State, list_partitions
from pcietune.guest.nvswitch.partition import (
    conflicts,
    nearest_partitions,
    partition_of,
)

_HOPPER = board_named("hopper").partitions
_boards = pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.name)


@_boards
def test_free_is_what_has_no_gpu_of_any_active_one(board: Board) -> None:
    table = board.partitions
    for count in (0, 1, 2):
        for active in combinations(table, count):
            taken = {module for partition in active for module in partition.modules}
            expected = [each for each in table if not any(m in taken for m in each.modules)]

            numbers = [partition.number for partition in active]
            found = list_partitions(board, numbers, addresses={}, switches=None, gpus=())

            assert [row.partition for row in found.rows if row.state is State.FREE] == expected


@_boards
def test_in_the_way_is_each_active_one_that_has_a_gpu_of_it(board: Board) -> None:
    table = board.partitions
    for wanted in table:
        for active in table:
            shared = [m for m in wanted.modules if m in active.modules]
            expected = (active,) if shared else ()

            assert conflicts(table, wanted, [active.number]) == expected


@_boards
def test_each_partition_is_found_by_its_gpus_and_by_no_fewer(board: Board) -> None:
    table = board.partitions
    for partition in table:
        assert partition_of(table, partition.modules) == partition
    held = {partition.modules for partition in table}
    for few in (*combinations(range(1, 17), 2), *combinations(range(1, 17), 3)):
        assert (partition_of(table, few) is not None) == (frozenset(few) in held)


@given(st.sampled_from(BOARDS), st.data())
def test_no_partition_is_nearer_than_the_nearest(board: Board, data: st.DataObject) -> None:
    table = board.partitions
    wanted = data.draw(st.sets(st.integers(1, 16), min_size=1))

    nearest = nearest_partitions(table, wanted)

    assert nearest
    size = len(nearest[0].modules)
    sizes = {len(p.modules) for p in table}
    assert size == min((n for n in sizes if n >= len(wanted)), default=board.gpus)
    best = len(nearest[0].modules & wanted)
    rivals = [p for p in table if len(p.modules) == size and len(p.modules & wanted) >= best]
    assert list(nearest) == rivals


def test_gpus_of_two_partitions_are_near_to_both() -> None:
    assert [each.number for each in nearest_partitions(_HOPPER, {1, 2})] == [3, 4]


def test_three_gpus_are_nearest_to_a_partition_of_four() -> None:
    assert [each.number for each in nearest_partitions(_HOPPER, {5, 6, 8})] == [2]


def test_more_gpus_than_a_board_has_are_nearest_to_all_of_it() -> None:
    assert [each.number for each in nearest_partitions(_HOPPER, set(range(1, 17)))] == [0]


def test_an_active_partition_that_the_board_has_not_is_refused() -> None:
    with pytest.raises(BadInputError, match="no partition 15"):
        list_partitions(board_named("hopper"), [15], addresses={}, switches=None, gpus=())
    with pytest.raises(BadInputError, match="no partition 15") as raised:
        conflicts(_HOPPER, _HOPPER[0], [15])

    assert "0, 1, 2, 3" in raised.value.hint
