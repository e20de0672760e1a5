"""Which board a host has, by PCI ids as pci.ids and vendors' guides have them."""

from dataclasses import replace

import pytest

from pcietune.address import PciAddress
from pcietune.guest.nvswitch.recognise import board_of, nvswitches
from pcietune.model.function import PciFunction

_3D, _VGA, _OTHER_BRIDGE, _HOST_BRIDGE, _PORT = 0x030200, 0x030000, 0x068000, 0x060000, 0x060400


def _functions(*groups: tuple[str, int, int]) -> list[PciFunction]:
    """Return functions in slots of their own, each group by id, class and count."""
    rows = [(text, code) for text, code, count in groups for _ in range(count)]
    return [
        PciFunction(
            address=PciAddress.parse(f"0000:{bus:02x}:00.0"),
            ports=(),
            vendor=int(text[:4], 16),
            device=int(text[5:], 16),
            subsystem_vendor=0,
            subsystem_device=0,
            class_code=code,
            driver=None,
        )
        for bus, (text, code) in enumerate(rows, start=1)
    ]


@pytest.mark.parametrize(
    ("gpu", "count", "switch", "switches", "board"),
    [
        ("10de:20b2", 8, "10de:1af1", 6, "a100"),  # DGX A100
        ("10de:20b0", 16, "10de:1af1", 12, "a100-two"),
        ("10de:20f3", 8, "10de:1af1", 6, "a800"),
        ("10de:20bd", 16, "10de:1af1", 12, "a800-two"),
        ("10de:2330", 8, "10de:22a3", 4, "hopper"),  # H100 SXM5
        ("10de:2335", 8, "10de:22a4", 4, "hopper"),  # H200 as NVIDIA's guide numbers its switch
        ("10de:2329", 8, "10de:22a3", 4, "hopper"),  # H20
        ("10de:2324", 8, "10de:22a3", 4, "h800"),
    ],
)
def test_gpus_and_nvswitches_tell_the_board(
    gpu: str, count: int, switch: str, switches: int, board: str
) -> None:
    found = board_of(_functions((gpu, _3D, count), (switch, _OTHER_BRIDGE, switches)))

    assert found is not None
    assert found.name == board


def test_two_boards_are_told_by_their_switches_where_gpus_fell_off() -> None:
    found = board_of(_functions(("10de:20b2", _3D, 7), ("10de:1af1", _OTHER_BRIDGE, 12)))

    assert found is not None
    assert found.name == "a100-two"


def test_vfs_of_gpus_make_no_second_board() -> None:
    host = _functions(("10de:20b2", _3D, 8), ("10de:1af1", _OTHER_BRIDGE, 6))
    vfs = [
        replace(pf, address=PciAddress.parse(f"{str(pf.address)[:-1]}{number}"))
        for pf in host[:8]
        for number in (4, 5)
    ]
    found = board_of([*host, *vfs])

    assert found is not None
    assert found.name == "a100"


@pytest.mark.parametrize("gpu", ["10de:2901", "10de:2909", "10de:3182"])
def test_b200_and_b300_are_told_without_any_nvswitch(gpu: str) -> None:
    found = board_of(_functions((gpu, _3D, 8)))

    assert found is not None
    assert found.name == "blackwell"


def test_another_makers_card_beside_them_changes_nothing() -> None:
    hopper = (("10de:2330", _3D, 8), ("10de:22a3", _OTHER_BRIDGE, 4))

    found = board_of(_functions(*hopper, ("10de:27b8", _3D, 1), ("1a03:2000", _VGA, 1)))

    assert found is not None
    assert found.name == "hopper"


@pytest.mark.parametrize(
    "groups",
    [
        pytest.param((("10de:2330", _3D, 8),), id="no NVSwitch to be seen"),
        pytest.param((("10de:26b9", _3D, 8),), id="L40S"),
        pytest.param((("10de:2941", _3D, 4),), id="GB200, whose switches are a rack's"),
        pytest.param((("10de:1db1", _3D, 8), ("10de:1ac2", _OTHER_BRIDGE, 6)), id="V100"),
        pytest.param((("10de:22a3", _OTHER_BRIDGE, 4),), id="NVSwitches alone"),
        pytest.param((("10de:2330", _3D, 8), ("10de:22a3", _HOST_BRIDGE, 4)), id="class 0600"),
        pytest.param((("10de:2330", _3D, 8), ("10de:22a3", _PORT, 4)), id="class 0604"),
        pytest.param((("10de:2330", _3D, 8), ("8086:22a3", _OTHER_BRIDGE, 4)), id="not NVIDIA's"),
        pytest.param(
            (("10de:20b2", _3D, 4), ("10de:2330", _3D, 4), ("10de:22a3", _OTHER_BRIDGE, 4)),
            id="GPUs of two boards",
        ),
    ],
)
def test_what_is_no_such_board_is_called_none(groups: tuple[tuple[str, int, int], ...]) -> None:
    assert board_of(_functions(*groups)) is None


def test_nvswitches_are_found_by_their_whole_class() -> None:
    functions = _functions(
        ("10de:22a3", _OTHER_BRIDGE, 1), ("10de:22a3", _HOST_BRIDGE, 1), ("10de:2330", _3D, 1)
    )

    assert nvswitches(functions) == (functions[0],)
