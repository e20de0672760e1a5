import pytest
from registers.layout import PCI_EXPRESS, POWER_MANAGEMENT, Layout

from pcietune.errors import ConfigSpaceError
from pcietune.registers.express import Express, PortType


def function(
    *, flags: int = 0x0002, capable: int = 0, status: int = 0, control_2: int = 0
) -> Layout:
    """Return a function with the PCI Express capability at 40h."""
    layout = Layout(0x100).capabilities((0x40, PCI_EXPRESS)).put(0x42, 2, flags)
    return layout.put(0x4C, 4, capable).put(0x52, 2, status).put(0x70, 2, control_2)


def found(layout: Layout) -> Express:
    express = Express.find(layout.config())
    assert express
    return express


@pytest.mark.parametrize(
    ("flags", "port_type"),
    [
        pytest.param(0x0002, PortType.ENDPOINT),
        pytest.param(0x0012, PortType.LEGACY_ENDPOINT),
        pytest.param(0x0142, PortType.ROOT_PORT),
        pytest.param(0x0052, PortType.UPSTREAM_PORT),
        pytest.param(0x3F62, PortType.DOWNSTREAM_PORT),
        pytest.param(0x0071, PortType.PCIE_TO_PCI_BRIDGE),
        pytest.param(0x0081, PortType.PCI_TO_PCIE_BRIDGE),
        pytest.param(0x0092, PortType.RC_INTEGRATED_ENDPOINT),
        pytest.param(0x00A2, PortType.RC_EVENT_COLLECTOR),
        pytest.param(0x0022, None),
        pytest.param(0x00F2, None),
    ],
)
def test_the_port_type_is_in_bits_7_to_4(flags: int, port_type: PortType | None) -> None:
    assert found(function(flags=flags)).port_type is port_type


@pytest.mark.parametrize(
    ("code", "speed"),
    [
        (1, 2.5),
        (2, 5.0),
        (3, 8.0),
        (4, 16.0),
        (5, 32.0),
        (6, 64.0),
        (0, None),
        (9, None),
        (15, None),
    ],
)
def test_the_speed_is_in_bits_3_to_0_of_both_registers(code: int, speed: float | None) -> None:
    express = found(function(capable=0x0040_0100 | code, status=0x3080 | code))

    assert (express.link_capable.code, express.link_capable.speed) == (code, speed)
    assert (express.link.code, express.link.speed) == (code, speed)


@pytest.mark.parametrize("lanes", [0, 1, 2, 4, 8, 12, 16, 32])
def test_the_width_is_in_bits_9_to_4_of_both_registers(lanes: int) -> None:
    express = found(function(capable=0xFFFF_FC04 | lanes << 4, status=0x3004 | lanes << 4))

    assert express.link_capable.lanes == lanes
    assert express.link.lanes == lanes


@pytest.mark.parametrize(
    ("flags", "control_2", "code"),
    [
        pytest.param(0x0062, 0x0003, 3, id="8 GT/s"),
        pytest.param(0x0062, 0xFFC9, 9, id="a code that is not known"),
        pytest.param(0x0062, 0x0000, None, id="none"),
        pytest.param(0x0061, 0x0003, None, id="version 1 has no such register"),
    ],
)
def test_the_target_speed_is_in_bits_3_to_0_of_link_control_2(
    flags: int, control_2: int, code: int | None
) -> None:
    assert found(function(flags=flags, control_2=control_2)).target_speed == code


def test_a_conventional_function_has_none() -> None:
    assert Express.find(Layout(0x100).capabilities((0x40, POWER_MANAGEMENT)).config()) is None


@pytest.mark.parametrize(
    ("layout", "register"),
    [
        pytest.param(function(flags=0xFFFF), "port_type"),
        pytest.param(function(capable=0xFFFFFFFF), "link_capable"),
        pytest.param(function(status=0xFFFF), "link"),
    ],
)
def test_a_register_of_all_ones_is_not_decoded(layout: Layout, register: str) -> None:
    express = found(layout)

    with pytest.raises(ConfigSpaceError, match="does not answer"):
        getattr(express, register)


def test_the_port_type_costs_the_list_and_one_word() -> None:
    config = function().config()
    express = Express.find(config)
    assert express

    _ = express.port_type, express.port_type

    assert config.accesses == [(0x06, 2), (0x34, 1), (0x40, 2), (0x42, 2)]


def test_the_link_costs_one_register_each() -> None:
    config = function(capable=0x0040_0104, status=0x3083).config()
    express = Express.find(config)
    assert express

    _ = express.link_capable, express.link

    assert config.accesses[3:] == [(0x4C, 4), (0x52, 2)]


@pytest.mark.parametrize("number", [0, 1, 0x80, 0xFF])
def test_the_port_number_is_in_bits_31_to_24_of_link_capabilities(number: int) -> None:
    capable = number << 24 | 0x00FF_FC00 | 0x0104  # everything else set, 16 lanes of 16 GT/s

    assert found(function(capable=capable)).port_number == number
