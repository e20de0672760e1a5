"""Which GPUs and NICs a VM gets: expected by the rules, and by trying every set."""

from collections import Counter
from dataclasses import replace
from itertools import combinations
from random import Random

import pytest
from guest.choice.hosts import Switch, address, stock_of, without
from guest.test_cells import node
from hypothesis import given
from hypothesis import strategies as st
from model.functions import function

from pcietune.address import PciAddress
from pcietune.errors import BadInputError
from pcietune.guest.cells import Room
from pcietune.guest.choice.choice import Choice
from pcietune.guest.choice.choose import choose
from pcietune.guest.choice.nvlink import NvLink
from pcietune.guest.stock.offer import Offer, Stock
from pcietune.guest.wish import Wish

A800 = (Switch(), Switch(), Switch(1), Switch(1))
L20 = tuple(Switch(node, gpus=2, nics=1, vfs=2) for node in (0, 0, 1, 1))
LEAVES = tuple(function(f"10:01.0 11:00.0 12:0{leaf}.0 1{leaf + 3}:00.0") for leaf in (0, 1, 1))
CASES = st.tuples(
    st.lists(
        st.builds(
            Switch,
            node=st.integers(0, 1),
            gpus=st.integers(1, 3),
            nics=st.integers(0, 3),
            busy=st.frozensets(st.integers(0, 5), max_size=2),
        ),
        min_size=1,
        max_size=4,
    ),
    st.lists(st.integers(0, 1), max_size=2),
    st.integers(1, 5),
)


def chosen(stock: Stock, gpus: int, nics: int | None = None) -> Choice:
    return choose(stock, Wish(gpus=gpus, nics=nics), NvLink())


def addresses(offers: tuple[Offer, ...]) -> list[PciAddress]:
    return [offer.address for offer in offers]


@pytest.mark.parametrize(
    ("gpus", "wanted"),
    [
        (1, [(0, 0)]),
        (2, [(0, 0), (0, 1)]),
        (4, [(0, 0), (0, 1), (1, 0), (1, 1)]),
        (8, [(switch, index) for switch in range(4) for index in range(2)]),
    ],
)
def test_gpus_are_of_one_switch_before_one_node_before_two(
    gpus: int, wanted: list[tuple[int, int]]
) -> None:
    choice = chosen(stock_of(A800), gpus)

    assert addresses(choice.gpus) == [address(*place) for place in wanted]


def test_each_gpu_brings_the_nic_that_is_its_share() -> None:
    choice = chosen(stock_of(A800), 1)

    assert addresses(choice.nics) == [address(0, 2)]


def test_one_gpu_is_taken_where_a_switch_is_broken_up_already() -> None:
    stock = stock_of([Switch(), Switch(busy=frozenset({0, 2}))])

    assert addresses(chosen(stock, 1).gpus) == [address(1, 1)]


def test_a_whole_switch_is_kept_though_more_gpus_are_left_over_elsewhere() -> None:
    stock = stock_of([Switch(gpus=2), Switch(gpus=4, nics=4, busy=frozenset({0, 4}))])

    assert addresses(chosen(stock, 1).gpus) == [address(1, 1)]


def test_three_switches_of_one_node_come_before_two_of_two() -> None:
    one = Switch(0, gpus=1, nics=1)
    stock = stock_of([Switch(1, gpus=2), one, one, one])

    assert addresses(chosen(stock, 3).gpus) == [address(switch, 0) for switch in (1, 2, 3)]


def test_a_gpu_of_the_fuller_node_is_left_alone() -> None:
    stock = stock_of([], alone=[0, 0, 0, 1, 1])
    taken = replace(stock.gpus[2], why_not=("others have it",))
    other = replace(stock.gpus[4], why_not=("others have it",))
    gpus = (*stock.gpus[:2], taken, stock.gpus[3], other)

    assert chosen(replace(stock, gpus=gpus), 1).gpus == (stock.gpus[3],)


def test_gpus_of_one_leaf_switch_come_before_those_of_two() -> None:
    stock = stock_of([Switch(gpus=3, nics=0)])
    leaves = [(*gpu.chosen.switches, leaf) for gpu, leaf in zip(stock.gpus, LEAVES, strict=True)]
    gpus = tuple(
        replace(gpu, chosen=replace(gpu.chosen, switches=switches))
        for gpu, switches in zip(stock.gpus, leaves, strict=True)
    )

    choice = chosen(replace(stock, gpus=gpus), 2)

    assert addresses(choice.gpus) == [address(0, 1), address(0, 2)]


def test_what_fails_is_given_last_even_where_it_may_be() -> None:
    stock = stock_of([Switch(), Switch()])
    failing = replace(stock.gpus[0], failing=("gpu.bar1 is not as wanted: small",))

    choice = chosen(replace(stock, gpus=(failing, *stock.gpus[1:])), 3)

    assert failing not in choice.gpus


def test_a_pair_leaves_the_other_node_whole() -> None:
    stock = stock_of([Switch(1), Switch(1), Switch(0), Switch(0, busy=frozenset({0, 1, 2, 3}))])

    assert addresses(chosen(stock, 2).gpus) == [address(2, 0), address(2, 1)]


def test_gpus_of_another_node_are_given_where_the_first_has_not_the_memory() -> None:
    wish = Wish(gpus=2, cpus=2, memory_mib=2 << 10)
    nodes = {0: node(0, memory_gib=1), 1: node(1, memory_gib=4)}
    stock = stock_of(A800)

    choice = choose(stock, wish, NvLink(), Room(nodes, wish, stock.gpus_by_node()))

    assert addresses(choice.gpus) == [address(2, 0), address(2, 1)]
    assert any("have not the CPUs or the memory" in reason for reason in choice.reasons)


def test_no_gpus_farther_from_each_other_are_given_for_their_memory() -> None:
    wish = Wish(gpus=2, cpus=2, memory_mib=2 << 10)
    nodes = {0: node(0, memory_gib=1), 1: node(1, memory_gib=1)}
    stock = stock_of(A800)

    choice = choose(stock, wish, NvLink(), Room(nodes, wish, stock.gpus_by_node()))

    assert addresses(choice.gpus) == [address(0, 0), address(0, 1)]


def test_two_vms_of_one_switch_get_a_vf_each_of_its_only_nic() -> None:
    stock = stock_of(L20)
    first = chosen(stock, 1)
    second = chosen(without(stock, {*addresses(first.gpus), *addresses(first.nics)}), 1)

    assert addresses(first.gpus) == [address(0, 0)]
    assert addresses(second.gpus) == [address(0, 1)]
    assert [str(each) for each in addresses((*first.nics, *second.nics))] == [
        "0000:15:00.1",
        "0000:15:00.2",
    ]


def test_both_gpus_of_a_switch_get_one_vf_where_vfs_are_on() -> None:
    assert [str(each) for each in addresses(chosen(stock_of(L20), 2).nics)] == ["0000:15:00.1"]


def test_a_shared_nic_without_vfs_is_answered_with_the_command_that_makes_them() -> None:
    stock = stock_of([Switch(gpus=2, nics=1)])

    with pytest.raises(BadInputError, match="only a VF of it can be given, and those are") as e:
        chosen(stock, 1)

    assert "echo 2 > /sys/bus/pci/devices/0000:15:00.0/sriov_numvfs; --nics 1 " in e.value.hint


def test_a_shared_nic_that_has_no_vfs_can_be_taken_whole_on_request() -> None:
    stock = stock_of([Switch(gpus=2, nics=1)], total_vfs=0)

    with pytest.raises(BadInputError, match="only a VF of it can be given, and it has none") as e:
        chosen(stock, 1)

    assert e.value.hint.startswith("--nics 1 takes whole ones from the other GPUs")
    assert addresses(chosen(stock, 1, nics=1).nics) == [address(0, 2)]


def test_a_nic_whose_vfs_others_have_is_answered_with_who_has_them() -> None:
    stock = stock_of([Switch(gpus=2, nics=1, vfs=1)])
    (vf,) = stock.cards[0].ports[0]

    with pytest.raises(BadInputError, match=r"15:00\.1: another VM has it"):
        chosen(without(stock, [vf.address]), 1)


def test_of_a_card_of_two_ports_a_vf_of_each_is_given_or_nothing() -> None:
    stock = stock_of([Switch(gpus=2, nics=1, vfs=2)])
    (first, second) = stock.cards[0].ports[0]
    both = replace(stock.cards[0], ports=((first,), (second,)))
    taken = replace(second, why_not=("others have it",))
    half = replace(both, ports=((first,), (taken,)))

    assert chosen(replace(stock, cards=(both,)), 1).nics == (first, second)
    with pytest.raises(BadInputError, match="none of its VFs can be given"):
        chosen(replace(stock, cards=(half,)), 1)


def test_a_nic_whose_group_would_be_torn_apart_is_not_picked() -> None:
    stock = stock_of([Switch(gpus=1, nics=2)])
    torn = replace(stock.cards[0].whole, mates=frozenset({stock.cards[1].whole.address}))
    cards = (replace(stock.cards[0], whole=torn), stock.cards[1])

    with pytest.raises(BadInputError, match="its IOMMU group would be torn apart"):
        chosen(replace(stock, cards=cards), 1)


def test_all_gpus_of_a_switch_get_its_only_nic_whole() -> None:
    stock = stock_of([Switch(gpus=2, nics=1)])

    assert addresses(chosen(stock, 2).nics) == [address(0, 2)]


def test_nics_of_a_number_are_the_nearest() -> None:
    stock = stock_of([Switch(1, nics=1), Switch(0, gpus=1, nics=1), Switch(0, gpus=2, nics=1)])

    choice = chosen(stock, 2, nics=2)

    assert addresses(choice.gpus) == [address(2, 0), address(2, 1)]
    assert addresses(choice.nics) == [address(2, 2), address(1, 1)]


def test_fewer_nics_than_gpus_are_of_different_switches() -> None:
    assert addresses(chosen(stock_of(A800), 4, nics=2).nics) == [address(0, 2), address(1, 2)]


def test_more_nics_than_there_are_is_answered_with_how_many_there_are() -> None:
    with pytest.raises(BadInputError, match="9 NICs, and the host can give 8 ") as error:
        chosen(stock_of(A800), 8, nics=9)

    assert error.value.hint == "--nics 8 does with fewer"


def test_more_gpus_than_there_are_is_answered_with_those_and_why_no_others() -> None:
    stock = stock_of([Switch(busy=frozenset({0})), Switch()])

    with pytest.raises(BadInputError, match=r"3 GPUs, .*, not 4; 0000:13:00\.0: others") as error:
        chosen(stock, 4)

    assert error.value.hint == "the nearest number that it can give: --gpus 3"


def test_gpus_of_one_iommu_group_go_together() -> None:
    stock = stock_of([Switch(gpus=3, nics=0), Switch(1, nics=0)])
    tied = {address(0, 1): address(0, 2), address(0, 2): address(0, 1)}
    gpus = tuple(
        replace(gpu, mates=frozenset({tied[gpu.address]})) if gpu.address in tied else gpu
        for gpu in stock.gpus
    )

    assert addresses(chosen(replace(stock, gpus=gpus), 2).gpus) == [address(1, 0), address(1, 1)]


def test_a_number_that_tears_a_group_apart_is_answered_with_one_that_does_not() -> None:
    stock = stock_of([Switch(gpus=2, nics=0)])
    first, second = stock.gpus
    gpus = (
        replace(first, mates=frozenset({second.address})),
        replace(second, mates=frozenset({first.address})),
    )

    with pytest.raises(BadInputError, match="without tearing an IOMMU group apart") as error:
        chosen(replace(stock, gpus=gpus), 1)

    assert error.value.hint == "the nearest number that it can give: --gpus 2"


def test_a_gpu_that_shares_a_group_with_a_nic_brings_that_nic() -> None:
    stock = stock_of([Switch(gpus=1, nics=3)])
    tied = replace(stock.gpus[0], mates=frozenset({address(0, 3)}))

    choice = choose(replace(stock, gpus=(tied,)), Wish(gpus=1, nics=1), NvLink())

    assert addresses(choice.nics) == [address(0, 3)]


def test_a_gpu_is_not_given_without_a_nic_of_its_iommu_group() -> None:
    stock = stock_of([Switch(gpus=1, nics=1)])
    tied = replace(stock.gpus[0], mates=frozenset({address(0, 1)}))

    with pytest.raises(BadInputError, match=r"0000:13:00\.0: its IOMMU group would be torn apart"):
        choose(replace(stock, gpus=(tied,)), Wish(gpus=1, nics=0), NvLink())


def test_a_gpu_whose_group_holds_a_nic_that_others_have_is_passed_over() -> None:
    stock = stock_of([Switch(gpus=2, nics=2, busy=frozenset({2}))])
    tied = replace(stock.gpus[0], mates=frozenset({address(0, 2)}))

    choice = chosen(replace(stock, gpus=(tied, stock.gpus[1])), 1)

    assert addresses(choice.gpus) == [address(0, 1)]


@given(CASES, st.randoms(use_true_random=False))
def test_a_choice_does_not_depend_on_the_order_in_which_a_host_lists_things(
    case: tuple[list[Switch], list[int], int], random: Random
) -> None:
    switches, alone, count = case
    stock = stock_of(switches, alone=alone)
    gpus, cards = list(stock.gpus), list(stock.cards)
    random.shuffle(gpus)
    random.shuffle(cards)
    other = replace(stock, gpus=tuple(gpus), cards=tuple(cards))

    try:
        first = chosen(stock, count)
    except BadInputError:
        with pytest.raises(BadInputError):
            chosen(other, count)
    else:
        again = chosen(other, count)
        assert addresses(again.offers) == addresses(first.offers)


@given(CASES)
def test_no_function_is_ever_given_to_two_vms(case: tuple[list[Switch], list[int], int]) -> None:
    switches, alone, count = case
    stock = stock_of([replace(each, vfs=2 * (each.nics == 1)) for each in switches], alone=alone)
    given: list[PciAddress] = []
    while True:
        try:
            choice = chosen(without(stock, given), count)
        except BadInputError:
            break
        given += addresses(choice.offers)

    assert len(given) == len(set(given))


@given(CASES)
def test_no_set_of_gpus_is_better_by_the_rules(case: tuple[list[Switch], list[int], int]) -> None:
    switches, alone, count = case
    stock = stock_of(switches, alone=alone)
    free = [gpu for gpu in stock.gpus if not gpu.why_not]
    sets = list(combinations(free, count))
    scores = [_score(stock, gpus, [gpu for gpu in free if gpu not in gpus]) for gpus in sets]

    try:
        best = chosen(stock, count).gpus
    except BadInputError:
        assert not sets or min(scores)[0] > 0
    else:
        left = [gpu for gpu in free if gpu not in best]
        assert _score(stock, best, left) == min(scores)


def _score(stock: Stock, gpus: tuple[Offer, ...], left: list[Offer]) -> tuple[int, ...]:
    """Return by the rules how bad a set is: NICs that lack, distances, what it breaks up."""
    switch_of = {gpu.address: gpu.switch or str(gpu.address) for gpu in stock.gpus}
    taken = Counter(switch_of[gpu.address] for gpu in gpus)
    all_there = Counter(switch_of.values())
    lacking = 0
    for switch, count in taken.items():
        nics = [card for card in stock.cards if card.whole.switch == switch]
        exact = count * len(nics) / all_there[switch]
        whole = int(exact)
        can = sum(not card.whole.why_not for card in nics)
        part = exact > whole and len(nics) < all_there[switch]
        lacking += max(whole - can, 0) + part  # no VF is on, so no part of a NIC can be had
    remaining = Counter(switch_of[gpu.address] for gpu in left)
    nodes, nodes_left = Counter(gpu.node for gpu in gpus), Counter(gpu.node for gpu in left)
    nodes_all = Counter(gpu.node for gpu in stock.gpus)
    return (
        lacking,
        len(nodes),
        len(taken),
        sum(remaining[s] > 0 and taken[s] + remaining[s] == all_there[s] for s in taken),
        sum(nodes_left[n] > 0 and nodes[n] + nodes_left[n] == nodes_all[n] for n in nodes),
        sum(remaining[s] for s in taken),
        sum(nodes_left[n] for n in nodes),
    )
