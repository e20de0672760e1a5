"""Fabric Manager's own partitions, as fmpm lists them."""

import pytest
from guest.nvswitch.fmpm import fmpm_list

from pcietune.errors import BadInputError
from pcietune.guest.nvswitch.fmpm_list import parse_fmpm_list
from pcietune.guest.nvswitch.partition import Partition


def test_partitions_are_in_the_order_of_their_ids_and_active_ones_are_told() -> None:
    found = parse_fmpm_list(fmpm_list({7: [1], 3: [3, 1]}, active=[7]), "list.json")

    assert found.table == (Partition(3, frozenset({1, 3}), 18), Partition(7, frozenset({1}), 0))
    assert found.active == (7,)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no list of partitions"),
        ("Failed to get partition list. fmReturn: -8\n", "no list of partitions"),
        ("{}", "partitionInfo"),
        ('{"partitionInfo": [{"partitionId": 1}]}', "isActive"),
        ("[" * 100000, "no list of partitions"),
        (fmpm_list({}), "supports no partition"),
        (fmpm_list({1: []}), "has no GPU"),
        (fmpm_list({1: [1], 2: [2]}).replace('"partitionId": 2', '"partitionId": 1'), "twice"),
    ],
)
def test_what_is_no_list_is_refused(text: str, said: str) -> None:
    with pytest.raises(BadInputError, match=said) as raised:
        parse_fmpm_list(text, "list.json")

    assert str(raised.value).startswith("list.json: ")
    assert "fmpm -l" in raised.value.hint
