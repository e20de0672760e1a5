"""Functions that somebody named for a VM."""

from dataclasses import replace

import pytest
from guest.choice.hosts import Switch, address, stock_of
from model.functions import function

from pcietune.errors import BadInputError
from pcietune.guest.choice.choice import Choice
from pcietune.guest.choice.choose import choose
from pcietune.guest.choice.nvlink import NvLink
from pcietune.guest.choice.told import by_reason
from pcietune.guest.kinds import Kind
from pcietune.guest.stock.offer import Stock
from pcietune.guest.wish import Wish

GPU, NIC = "0000:13:00.0", "0000:15:00.0"


def named(stock: Stock, *names: str, nics: int | None = None) -> Choice:
    return choose(stock, Wish(functions=names, nics=nics), NvLink())


def test_a_gpu_that_is_named_brings_its_share_of_nics() -> None:
    choice = named(stock_of([Switch()]), GPU)

    assert [str(each.address) for each in choice.offers] == [GPU, NIC]


def test_a_nic_that_is_named_is_all_that_comes() -> None:
    choice = named(stock_of([Switch()]), "0000:16:00.0", GPU)

    assert [str(each.address) for each in choice.offers] == [GPU, "0000:16:00.0"]


def test_a_number_of_nics_counts_those_that_are_named() -> None:
    choice = named(stock_of([Switch()]), "0000:16:00.0", GPU, nics=2)

    assert [str(each.address) for each in choice.nics] == ["0000:16:00.0", NIC]


def test_a_function_may_be_named_by_its_location() -> None:
    choice = named(stock_of([Switch()]), "0000:10:01.0/00.0/01.0/00.0")

    assert [each.address for each in choice.gpus] == [address(0, 1)]


def test_a_vf_may_be_named() -> None:
    choice = named(stock_of([Switch(nics=1, vfs=2)]), GPU, "0000:15:00.2")

    assert [str(each.address) for each in choice.nics] == ["0000:15:00.2"]


def test_a_companion_that_is_named_brings_the_whole_slot() -> None:
    stock = stock_of([Switch(gpus=1, nics=0)])
    sound = function("10:01.0 11:00.0 12:00.0 13:00.1", ("10de:1aef", 0x040300))
    chosen = stock.gpus[0].chosen
    beside = replace(chosen, function=sound, kind=Kind.COMPANION)
    whole = replace(stock.gpus[0], chosen=replace(chosen, companions=(beside,)))

    choice = named(replace(stock, gpus=(whole,)), "0000:13:00.1")

    assert choice.gpus == (whole,)
    assert any("0000:13:00.1 goes along" in reason for reason in choice.reasons)


def test_one_that_others_have_is_refused_with_those_that_can_be_given() -> None:
    stock = stock_of([Switch(busy=frozenset({0}))])

    with pytest.raises(BadInputError, match=r"0000:13:00\.0 cannot be given: others have it") as e:
        named(stock, GPU)

    assert e.value.hint == "those of its kind that can be given: 0000:14:00.0"


def test_one_that_an_option_would_give_is_refused_with_the_option() -> None:
    stock = stock_of([Switch(busy=frozenset({0}))])
    neighbour = replace(stock.gpus[0], unless="--share-switches")

    with pytest.raises(BadInputError, match="cannot be given") as error:
        named(replace(stock, gpus=(neighbour, *stock.gpus[1:])), GPU)

    assert error.value.hint == (
        "those of its kind that can be given: 0000:14:00.0; more by --share-switches"
    )


def test_one_that_is_no_gpu_nic_or_nvswitch_is_refused() -> None:
    with pytest.raises(BadInputError, match=r"0000:99:00\.0 is none of the GPUs"):
        named(stock_of([Switch()]), "0000:99:00.0")


def test_a_port_is_refused_with_what_is_below_it() -> None:
    stock = stock_of([Switch(busy=frozenset({0}), nics=1), Switch()])
    port = str(stock.gpus[0].chosen.function.ports[-1])

    with pytest.raises(BadInputError, match="is a port, and no VM gets that") as error:
        named(replace(stock, cards=()), "0000:11:00.0")
    with pytest.raises(BadInputError, match=f"{port} is a port"):
        named(stock, port)

    assert error.value.hint == "name what is wanted of it: 0000:14:00.0"


def test_one_whose_iommu_group_would_be_torn_apart_is_refused_with_what_to_add() -> None:
    stock = stock_of([Switch()])
    gpu = replace(stock.gpus[0], mates=frozenset({address(0, 1)}))

    with pytest.raises(BadInputError, match="IOMMU group would be torn apart") as error:
        named(replace(stock, gpus=(gpu, *stock.gpus[1:])), GPU, nics=0)

    assert error.value.hint == "name all: --function 0000:13:00.0 --function 0000:14:00.0"


def test_several_offers_that_one_vm_has_are_told_in_the_plural() -> None:
    gpus = [replace(each, why_not=("vm0 has it",)) for each in stock_of([Switch()]).gpus]

    assert by_reason(gpus) == "0000:13:00.0, 0000:14:00.0: vm0 has them"
    assert by_reason(gpus[:1]) == "0000:13:00.0: vm0 has it"
