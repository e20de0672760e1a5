"""What NVSwitches ask of a choice: by the tables of the Fabric Manager User Guide."""

from dataclasses import replace

import pytest
from guest.choice.hosts import Switch, address, stock_of
from model.functions import function

from pcietune.errors import BadInputError
from pcietune.guest.choice.choose import choose
from pcietune.guest.choice.nvlink import NvLink
from pcietune.guest.kinds import Kind, NvSwitchModel
from pcietune.guest.nvswitch.board import board_named
from pcietune.guest.stock.offer import Offer, Stock
from pcietune.guest.wish import Wish

A800 = (Switch(), Switch(), Switch(1), Switch(1))
BY_HOST = NvLink(NvSwitchModel.HOST, board_named("a800"))
HOPPER = NvLink(NvSwitchModel.SHARED, board_named("hopper"))
WHOLE = NvLink(NvSwitchModel.FULL, board_named("a800"))


def board(*modules: int) -> Stock:
    """Return a host of four switches whose GPUs are modules in this order."""
    return stock_of(A800, modules=modules)


def with_switches(stock: Stock, count: int) -> Stock:
    chosen = stock.gpus[0].chosen
    switches = tuple(
        Offer(
            replace(
                chosen,
                function=function(f"f0:0{n}.0 f{n + 1}:00.0", ("10de:1af1", 0x068000)),
                kind=Kind.NVSWITCH,
                switches=(),
            )
        )
        for n in range(count)
    )
    return replace(stock, nvswitches=switches)


def test_two_gpus_are_a_partition_though_others_are_nearer_by_pcie() -> None:
    stock = board(1, 3, 2, 4, 5, 7, 6, 8)

    choice = choose(stock, Wish(gpus=2), BY_HOST)

    assert [gpu.address for gpu in choice.gpus] == [address(0, 0), address(1, 0)]
    assert choice.partition is not None
    assert choice.partition.number == 11  # modules 1 and 2


def test_on_hopper_modules_1_and_3_are_a_pair() -> None:
    choice = choose(board(1, 2, 3, 4, 5, 6, 7, 8), Wish(gpus=2), HOPPER)

    assert [gpu.address for gpu in choice.gpus] == [address(0, 0), address(1, 0)]


def test_one_gpu_breaks_up_no_partition_that_a_bigger_vm_could_have() -> None:
    stock = board(1, 2, 3, 4, 5, 6, 7, 8)
    taken = replace(stock.gpus[6], why_not=("others have it",))
    gpus = (*stock.gpus[:6], taken, stock.gpus[7])

    choice = choose(replace(stock, gpus=gpus), Wish(gpus=1), BY_HOST)

    assert choice.gpus == (stock.gpus[7],)


def test_of_two_halves_the_one_is_taken_whose_partition_is_broken_already() -> None:
    one_each = tuple(Switch(gpus=1, nics=1) for _ in range(8))
    stock = stock_of(one_each, modules=(1, 2, 3, 4, 5, 6, 7, 8))
    taken = replace(stock.gpus[7], why_not=("others have it",))

    choice = choose(replace(stock, gpus=(*stock.gpus[:7], taken)), Wish(gpus=2), BY_HOST)

    assert [stock.modules[gpu.address] for gpu in choice.gpus] == [5, 6]


def test_three_gpus_are_no_partition_and_the_nearest_number_is_told() -> None:
    with pytest.raises(BadInputError, match=r"no partition .* holds just 3 GPUs") as error:
        choose(board(1, 2, 3, 4, 5, 6, 7, 8), Wish(gpus=3), BY_HOST)

    assert error.value.hint == "the nearest number that a free partition has: --gpus 2"


def test_named_gpus_that_are_no_partition_are_answered_with_the_nearest() -> None:
    wish = Wish(functions=("0000:13:00.0", "0000:23:00.0"), nics=0)

    with pytest.raises(BadInputError, match="holds just 0000:13:00") as error:
        choose(board(1, 2, 3, 4, 5, 6, 7, 8), wish, BY_HOST)

    assert "partition 11 (modules 1, 2): 0000:13:00.0, 0000:14:00.0" in error.value.hint


def test_without_modules_gpus_are_chosen_by_pcie_and_nvlink_is_said_not_to_be_planned() -> None:
    choice = choose(stock_of(A800), Wish(gpus=2), BY_HOST)

    assert choice.partition is None
    assert any("NVLink is not planned" in warning for warning in choice.warnings)


def test_a_vm_that_has_the_board_whole_gets_all_its_nvswitches() -> None:
    choice = choose(with_switches(board(), 6), Wish(gpus=8), WHOLE)

    assert len(choice.nvswitches) == 6


def test_one_gpu_of_a_board_gets_no_nvswitch() -> None:
    assert choose(with_switches(board(), 6), Wish(gpus=1), WHOLE).nvswitches == ()


def test_which_nvswitches_go_with_half_a_board_has_to_be_said() -> None:
    with pytest.raises(BadInputError, match="which 3 of the 6 NVSwitches go with 4 GPUs") as error:
        choose(with_switches(board(), 6), Wish(gpus=4), WHOLE)

    assert "--function" in error.value.hint


def test_three_gpus_and_nvswitches_of_their_own_are_nothing_a_vm_can_have() -> None:
    with pytest.raises(BadInputError, match="no VM can be given 3 GPUs") as error:
        choose(with_switches(board(), 6), Wish(gpus=3), WHOLE)

    assert error.value.hint.endswith("8, 4, 2, 1 GPUs")


def test_an_nvswitch_that_somebody_has_keeps_the_board_from_being_given_whole() -> None:
    stock = with_switches(board(), 6)
    busy = replace(stock.nvswitches[0], why_not=("in use by VFIO",))
    stock = replace(stock, nvswitches=(busy, *stock.nvswitches[1:]))

    with pytest.raises(BadInputError, match=r"not all .* given: 0000:f1:00\.0: in use by VFIO"):
        choose(stock, Wish(gpus=8), WHOLE)


def test_a_board_that_is_not_known_is_not_given_whole() -> None:
    with pytest.raises(BadInputError, match="no board with NVSwitches"):
        choose(board(), Wish(gpus=8), NvLink(NvSwitchModel.FULL, None))
