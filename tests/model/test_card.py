import pytest
from model.functions import NIC, PORT, fabric, function

from pcietune.model.card import cards

NVIDIA_GPU = ("10de:2330", 0x030200)
ABOVE = "20:01.0 21:00.0 22:00.0"
BLUEFIELD_3 = ("15b3:197b", 0x060400)


def _cards(*paths: tuple[str, tuple[str, int]]) -> list[list[str]]:
    """Return which endpoints are one card, as short addresses; bridges come from the paths."""
    built = fabric(function(path, kind) for path, kind in paths)
    endpoints = [f for f in built.functions.values() if not f.is_pci_bridge]
    return [[str(f.address)[5:] for f in card] for card in cards(built, endpoints)]


def _in_switch(kind: tuple[str, int]) -> list[tuple[str, tuple[str, int]]]:
    """Return two NICs below a switch of this kind, which is below another maker's port."""
    return [
        ("20:01.0", PORT),
        ("20:01.0 21:00.0", PORT),
        (ABOVE, PORT),
        (f"{ABOVE} 23:00.0", kind),
        (f"{ABOVE} 23:00.0 24:00.0", kind),
        (f"{ABOVE} 23:00.0 24:01.0", kind),
        (f"{ABOVE} 23:00.0 24:00.0 25:00.0", NIC),
        (f"{ABOVE} 23:00.0 24:00.0 25:00.1", NIC),
        (f"{ABOVE} 23:00.0 24:01.0 26:00.0", NIC),
    ]


def test_the_functions_of_one_slot_are_a_card() -> None:
    assert _cards(
        ("20:01.0", PORT), ("20:01.0 21:00.0", NIC), ("20:01.0 21:00.1", NIC), ("22:00.0", NIC)
    ) == [["21:00.0", "21:00.1"], ["22:00.0"]]


def test_two_slots_of_one_bus_are_two_cards() -> None:
    assert _cards(("20:01.0", NIC), ("20:02.0", NIC)) == [["20:01.0"], ["20:02.0"]]


def test_all_below_the_switch_within_a_bluefield_is_one_card() -> None:
    assert _cards(*_in_switch(BLUEFIELD_3)) == [["25:00.0", "25:00.1", "26:00.0"]]


@pytest.mark.parametrize("kind", [PORT, ("1000:197b", 0x060400), ("15b3:1024", 0x060400)])
def test_a_switch_that_is_no_part_of_a_card_joins_nothing(kind: tuple[str, int]) -> None:
    assert _cards(*_in_switch(kind)) == [["25:00.0", "25:00.1"], ["26:00.0"]]


def test_gpus_below_the_switch_of_a_nic_are_cards_of_their_own() -> None:
    paths = [
        *_in_switch(("15b3:197d", 0x060400))[:-1],
        (f"{ABOVE} 23:00.0 24:01.0 26:00.0", NVIDIA_GPU),
        (f"{ABOVE} 23:00.0 24:02.0", ("15b3:197d", 0x060400)),
        (f"{ABOVE} 23:00.0 24:02.0 27:00.0", NVIDIA_GPU),
    ]

    assert _cards(*paths) == [["25:00.0", "25:00.1"], ["26:00.0"], ["27:00.0"]]
