"""Amounts of memory, as typed and as shared out to a plan's cells."""

import pytest
from guest.plans import a800_four_gpus_on_two_nodes, l20_one_gpu_and_a_vf
from msgspec.structs import replace

from pcietune.errors import BadInputError
from pcietune.guest.memory_size import parse_memory
from pcietune.guest.scaled import with_memory


@pytest.mark.parametrize(
    ("typed", "mib"),
    [("512M", 512), ("64G", 65536), ("64GiB", 65536), ("1t", 1048576)],
)
def test_an_amount_of_memory_is_read_by_its_unit(typed: str, mib: int) -> None:
    assert parse_memory(typed) == mib


@pytest.mark.parametrize(
    "typed", ["", "0", "0G", "G", "-1", "1.5G", "64K", "64 G", "1e3", "٣G", "4097T"]
)
def test_what_is_no_amount_of_memory_is_refused(typed: str) -> None:
    with pytest.raises(BadInputError, match="no amount of memory"):
        parse_memory(typed)


def test_a_number_without_a_unit_is_refused_with_what_to_write() -> None:
    with pytest.raises(BadInputError, match="without its unit") as refused:
        parse_memory("64")

    assert refused.value.hint == "64G or 64M"


def test_cells_share_out_another_amount_as_they_share_the_planned_one() -> None:
    plan = a800_four_gpus_on_two_nodes()
    small, large = plan.cells[0], replace(plan.cells[1], memory_mib=3 * 65536)

    scaled = with_memory(replace(plan, cells=[small, large]), 8192)

    assert [each.memory_mib for each in scaled.cells] == [2048, 6144]
    assert replace(scaled, cells=[small, large]) == replace(plan, cells=[small, large])


def test_cells_have_whole_hugepages_only() -> None:
    plan = l20_one_gpu_and_a_vf()

    with pytest.raises(BadInputError, match=r"1536 MiB cannot .* pages of 1024 MiB") as refused:
        with_memory(plan, 1536)

    assert refused.value.hint == "--memory 1024M can"
    assert with_memory(plan, 1024).cells[0].memory_mib == 1024


def test_no_cell_is_left_without_memory() -> None:
    with pytest.raises(BadInputError, match="2 cells") as refused:
        with_memory(a800_four_gpus_on_two_nodes(), 1024)

    assert refused.value.hint == "--memory 2048M can"
