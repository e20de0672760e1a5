"""What is said beside a choice: why, and what is not as it should be or not known."""

from dataclasses import replace

import pytest
from guest.choice.hosts import Switch, address, stock_of

from pcietune.address import PciAddress
from pcietune.guest.choice.choice import Choice
from pcietune.guest.choice.choose import choose
from pcietune.guest.choice.nvlink import NvLink
from pcietune.guest.kinds import NvSwitchModel
from pcietune.guest.nvswitch.board import board_named
from pcietune.guest.stock.offer import Offer, Stock
from pcietune.guest.wish import Mig, Wish

ONE, TWO = Wish(gpus=1), Wish(gpus=2)
A800 = (Switch(), Switch(), Switch(1), Switch(1))


def chosen(stock: Stock, wish: Wish = ONE, nvlink: NvLink | None = None) -> Choice:
    return choose(stock, wish, nvlink or NvLink())


def of_device(stock: Stock, device: int) -> Stock:
    """Return the stock with GPUs of another model."""

    def changed(gpu: Offer) -> Offer:
        function = replace(gpu.chosen.function, device=device)
        return replace(gpu, chosen=replace(gpu.chosen, function=function))

    return replace(stock, gpus=tuple(map(changed, stock.gpus)))


def said(choice: Choice, words: str) -> bool:
    return any(words in sentence for sentence in (*choice.reasons, *choice.warnings))


def test_gpus_of_one_switch_are_said_to_be() -> None:
    choice = chosen(stock_of(A800), TWO)

    assert choice.reasons[0] == (
        "0000:13:00.0, 0000:14:00.0: all below one switch, 0000:10:01.0/00.0"
    )
    assert choice.reasons[1] == "3 switches of 4 stay whole for other VMs"


def test_gpus_of_several_switches_are_said_to_be_for_lack_of_one() -> None:
    choice = chosen(stock_of(A800), Wish(gpus=4))

    assert said(choice, "below 2 switches of NUMA node 0, for no switch has 4 that are free")


def test_gpus_of_two_nodes_are_said_to_be_for_lack_of_one() -> None:
    assert said(chosen(stock_of(A800), Wish(gpus=6)), "on NUMA nodes 0, 1, for no node has 6")


def test_gpus_that_are_apart_for_their_partition_are_said_to_be() -> None:
    stock = stock_of(A800, modules=(1, 3, 2, 4, 5, 7, 6, 8))
    board = NvLink(NvSwitchModel.HOST, board_named("a800"))

    choice = chosen(stock, TWO, board)

    assert said(choice, "partition 11 (modules 1, 2)")
    assert said(choice, "for no free partition of the NVSwitches has 2 of one switch")


def test_gpus_that_are_apart_for_their_nics_are_not_said_to_be_so_for_want_of_gpus() -> None:
    switch = Switch(busy=frozenset({2}))  # one of its two NICs

    choice = chosen(stock_of([switch, switch]), TWO)

    assert said(choice, "for no switch has 2 that do as well by NICs, memory, IOMMU groups and")


def test_a_switch_of_which_a_vm_has_only_a_nic_does_not_stay_whole() -> None:
    choice = chosen(stock_of(A800), Wish(gpus=1, nics=3))

    assert said(choice, "2 switches of 4 stay whole for other VMs")


def test_gpus_without_a_switch_are_said_to_have_no_nic() -> None:
    stock = stock_of([Switch()], alone=[1, 1, 1])

    choice = chosen(stock, Wish(gpus=3))

    assert said(choice, "below root ports of NUMA node 1")
    assert said(choice, "no NIC is below a switch of 0000:e1:00.0")


def test_one_gpu_without_a_switch_is_said_to_be_on_its_node() -> None:
    choice = chosen(stock_of([], alone=[1, 0]))

    assert choice.reasons[:2] == (
        "0000:e1:00.0: on NUMA node 1",
        "1 GPU of 2 stays whole for other VMs",
    )


def test_a_node_that_firmware_does_not_tell_is_said_not_to_be_known() -> None:
    assert said(chosen(stock_of([], alone=[-1, -1])), "on an unknown NUMA node")


def test_gpus_that_were_passed_over_are_named_with_why() -> None:
    choice = chosen(stock_of([Switch(busy=frozenset({0, 1})), Switch()]), TWO)

    assert choice.reasons[-1] == "passed over: 0000:13:00.0, 0000:14:00.0: others have it"


def test_what_was_named_is_not_said_to_be_the_best() -> None:
    choice = chosen(stock_of(A800), Wish(functions=("0000:14:00.0",)))

    assert choice.reasons[0] == "the functions were named"
    assert not said(choice, "whole")


def test_a_nic_from_elsewhere_is_said_to_be() -> None:
    choice = chosen(stock_of([Switch(nics=0), Switch()]), Wish(gpus=2, nics=1))
    far = chosen(stock_of([Switch(nics=0), Switch(1, gpus=1)]), Wish(gpus=2, nics=1))

    assert said(choice, "0000:25:00.0: below the switch of 0000:23:00.0, 0000:24:00.0")
    assert said(far, "0000:24:00.0: below no switch of its GPUs")


def test_a_neighbour_on_a_shared_switch_is_warned_of() -> None:
    stock = replace(stock_of(A800), occupied={"0000:10:01.0/00.0": "the planned VM vm0"})

    assert said(chosen(stock), "switch 0000:10:01.0/00.0 serves the planned VM vm0, too")
    assert said(chosen(stock), "a function that lies about translated addresses")


def test_a_vm_of_which_no_plan_was_told_is_warned_of() -> None:
    stock = replace(stock_of(A800), untold=(address(2, 0),))

    assert said(
        chosen(stock), "no plan was told have 0000:33:00.0: their CPUs and memory are taken"
    )
    assert not said(chosen(stock_of(A800)), "no plan was told")


def test_what_is_given_though_it_fails_is_warned_of() -> None:
    stock = stock_of([Switch(gpus=1, nics=0)])
    failing = replace(stock.gpus[0], failing=("gpu.bar1 is not as wanted: small",))

    choice = chosen(replace(stock, gpus=(failing,)))

    assert said(choice, "0000:13:00.0 is given though its audit fails: gpu.bar1 is not as wanted")


def test_what_vfio_has_not_got_yet_is_told_with_the_command() -> None:
    stock = stock_of([Switch(gpus=1, nics=0)])
    unbound = replace(stock.gpus[0], unbound=(address(0, 0),))

    choice = chosen(replace(stock, gpus=(unbound,)))

    assert said(choice, "pcietune vfio bind 0000:13:00.0")


def test_what_a_recording_does_not_tell_is_warned_of() -> None:
    stock = stock_of([Switch(gpus=1, nics=0)])
    unsure = replace(stock.gpus[0], unsure=("0000:13:00.0: may be used by the host",))

    assert said(chosen(replace(stock, gpus=(unsure,))), "0000:13:00.0: may be used by the host")


def test_nvlink_that_nobody_planned_is_warned_of_only_where_there_is_some() -> None:
    board = NvLink(NvSwitchModel.NONE, board_named("a800"))

    assert said(chosen(stock_of(A800), TWO, board), "the VM does without NVLink")
    assert not said(chosen(stock_of(A800), TWO), "without NVLink")


@pytest.mark.parametrize("model", [NvSwitchModel.SHARED, NvSwitchModel.HOST])
def test_nvswitches_of_a_host_that_is_no_board_are_warned_of_if_somebody_speaks_of_them(
    model: NvSwitchModel,
) -> None:
    assert said(chosen(stock_of(A800), TWO, NvLink(model)), f"NVSwitches were said to be {model}")
    assert not said(chosen(stock_of(A800), TWO), "NVSwitches were said to be")


def test_a_gpu_of_a_board_that_is_alone_in_a_vm_has_its_nvlinks_switched_off() -> None:
    alone = NvLink(NvSwitchModel.NONE, board_named("a800"))
    by_itself = NvLink(NvSwitchModel.FULL, board_named("a800"))
    by_partition = NvLink(NvSwitchModel.HOST, board_named("a800"))

    assert said(chosen(stock_of(A800), ONE, alone), "NVreg_NvLinkDisable=1")
    assert said(chosen(stock_of(A800), ONE, by_itself), "NVreg_NvLinkDisable=1")
    assert not said(chosen(stock_of(A800), ONE, by_partition), "NVreg_NvLinkDisable=1")
    assert not said(chosen(stock_of(A800), ONE), "NVreg_NvLinkDisable=1")


def test_nvswitches_of_a_board_that_is_not_known_are_told() -> None:
    stock = stock_of(A800)

    choice = chosen(replace(stock, nvswitches=stock.gpus[6:]), TWO)

    assert said(choice, "no NVLink is planned: the host has 2 NVSwitches")


def test_gpus_that_are_named_without_their_nvswitches_are_said_to_have_no_nvlink() -> None:
    named = Wish(functions=("0000:13:00.0", "0000:14:00.0"))
    board = NvLink(NvSwitchModel.FULL, board_named("hopper"))

    assert said(
        chosen(stock_of(A800), named, board),
        "2 GPUs and 0 NVSwitches are nothing that a VM can be given whole",
    )


def test_of_a_whole_blackwell_board_the_functions_that_manage_it_have_to_be_named() -> None:
    board = NvLink(NvSwitchModel.FULL, board_named("blackwell"))

    assert said(chosen(stock_of(A800), Wish(gpus=8), board), "a ConnectX-7, which the VM needs")


def test_mig_is_asked_for_only_of_gpus_that_can_and_of_which_it_is_not_known() -> None:
    off = dict.fromkeys(map(PciAddress.parse, ("0000:13:00.0",)), Mig.OFF)

    assert said(chosen(stock_of(A800)), "whether MIG is on is not known of 1 GPU")
    assert not said(chosen(stock_of(A800), replace(ONE, mig=off)), "MIG")
    assert not said(chosen(of_device(stock_of(A800), 0x26BA)), "MIG")  # L20


def test_confidential_computing_is_asked_for_only_of_gpus_that_have_it() -> None:
    hopper = of_device(stock_of(A800), 0x2330)

    assert said(chosen(hopper), "whether confidential computing is on is not known")
    assert not said(chosen(hopper, replace(ONE, confidential=False)), "confidential")
    assert not said(chosen(stock_of(A800)), "confidential")
