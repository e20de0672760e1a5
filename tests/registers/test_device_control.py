import pytest
from registers.layout import PCI_EXPRESS, POWER_MANAGEMENT, Layout

from pcietune.errors import ConfigSpaceError
from pcietune.registers.device_control import DeviceControl


def function(*, capabilities: int = 0, control: int = 0) -> Layout:
    """Return a function with the PCI Express capability at 40h."""
    layout = Layout(0x100).capabilities((0x40, PCI_EXPRESS)).put(0x42, 2, 0x0002)
    return layout.put(0x44, 4, capabilities).put(0x48, 2, control)


def found(layout: Layout) -> DeviceControl:
    device = DeviceControl.find(layout.config())
    assert device
    return device


@pytest.mark.parametrize(
    ("code", "size"),
    [(0, 128), (1, 256), (2, 512), (3, 1024), (4, 2048), (5, 4096), (6, 8192), (7, 16384)],
)
def test_payloads_double_from_128_bytes_on(code: int, size: int) -> None:
    device = found(function(capabilities=0x1000_8FF8 | code, control=0x791F | code << 5))

    assert (device.max_payload_supported, device.max_payload) == (size, size)


@pytest.mark.parametrize(("control", "enabled"), [(0x0010, True), (0x28EF, False), (0, False)])
def test_relaxed_ordering_is_bit_4(control: int, *, enabled: bool) -> None:
    assert found(function(control=control)).relaxed_ordering is enabled


def test_the_control_is_the_whole_word() -> None:
    assert found(function(control=0x2950)).control == 0x2950


def test_a_conventional_function_has_none() -> None:
    layout = Layout(0x100).capabilities((0x40, POWER_MANAGEMENT))

    assert DeviceControl.find(layout.config()) is None


@pytest.mark.parametrize(
    ("layout", "register"),
    [
        pytest.param(function(capabilities=0xFFFFFFFF), "max_payload_supported"),
        pytest.param(function(control=0xFFFF), "max_payload"),
        pytest.param(function(control=0xFFFF), "relaxed_ordering"),
    ],
)
def test_a_register_of_all_ones_is_not_decoded(layout: Layout, register: str) -> None:
    device = found(layout)

    with pytest.raises(ConfigSpaceError, match="does not answer"):
        getattr(device, register)


def test_each_register_is_read_once_and_with_its_width() -> None:
    config = function(capabilities=0x0000_8002, control=0x2950).config()
    device = DeviceControl.find(config)
    assert device

    _ = device.max_payload_supported, device.max_payload, device.relaxed_ordering

    assert config.accesses[3:] == [(0x44, 4), (0x48, 2)]
