"""Pairs for people: equal ones at once, each of them once."""

from itertools import combinations, product

from pcietune.guest.pair_lines import pair_lines
from pcietune.guest.plan import Expectation


def expectation(one: str, other: str, means: str) -> Expectation:
    return Expectation(one=one, other=other, means=means, bandwidth="x", why="", not_known=[])


def test_pairs_that_are_all_alike_are_one_line() -> None:
    gpus = [f"gpu{number}" for number in range(11)]
    pairs = [expectation(*pair, "NVLink") for pair in combinations(gpus, 2)]

    assert list(pair_lines(pairs)) == [f"{', '.join(gpus)} with each other  NVLink, x"]


def test_nics_with_equal_neighbours_are_one_line() -> None:
    near = [expectation(*pair, "RDMA") for pair in product(("nic0", "nic1"), ("gpu0", "gpu1"))]
    far = [expectation(*pair, "memory") for pair in product(("nic0", "nic1"), ("gpu2",))]

    assert list(pair_lines(near + far)) == [
        "nic0, nic1 with gpu0, gpu1  RDMA, x",
        "nic0, nic1 with gpu2  memory, x",
    ]


def test_a_pair_that_differs_is_a_line_of_its_own() -> None:
    pairs = [
        expectation("gpu0", "gpu1", "NVLink"),
        expectation("gpu0", "gpu2", "memory"),
        expectation("gpu1", "gpu2", "memory"),
    ]

    assert list(pair_lines(pairs)) == [
        "gpu0 with gpu1  NVLink, x",
        "gpu0, gpu1 with gpu2  memory, x",
    ]


def test_no_pairs_are_no_lines() -> None:
    assert list(pair_lines([])) == []
