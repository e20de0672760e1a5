import pytest
from registers.layout import AER, ATS, POWER_MANAGEMENT, Layout, WatchedConfig, express_function

from pcietune.errors import ConfigSpaceError
from pcietune.registers.ats import Ats


def endpoint(capability: int, control: int) -> WatchedConfig:
    """Return a function with ATS at 480h."""
    layout = express_function((0x100, AER), (0x480, ATS))
    return layout.put(0x484, 2, capability).put(0x486, 2, control).config()


def found(capability: int, control: int) -> Ats:
    ats = Ats.find(endpoint(capability, control))
    assert ats
    return ats


# Words that lspci printed of real devices (D08).


@pytest.mark.parametrize(
    ("capability", "control", "page_aligned", "global_invalidate", "relaxed", "enabled"),
    [
        pytest.param(0x0020, 0x8000, True, False, False, True, id="8086:191e, 1002:7300"),
        pytest.param(0x0060, 0x8000, True, True, False, True, id="8086:0b25"),
        pytest.param(0x0060, 0x0000, True, True, False, False, id="8086:46a6"),
        pytest.param(0x0080, 0x0000, False, False, True, False, id="8086:0d93"),
        pytest.param(0x0000, 0x0000, False, False, False, False, id="14c1:0008"),
    ],
)
def test_words_of_real_devices_are_decoded(  # noqa: PLR0913 -- one column per bit
    capability: int,
    control: int,
    *,
    page_aligned: bool,
    global_invalidate: bool,
    relaxed: bool,
    enabled: bool,
) -> None:
    ats = found(capability, control)

    assert ats.page_aligned_request is page_aligned
    assert ats.global_invalidate is global_invalidate
    assert ats.relaxed_ordering is relaxed
    assert ats.enabled is enabled
    assert ats.invalidate_queue_depth == 32
    assert ats.smallest_translation_unit == 4096


@pytest.mark.parametrize(
    ("capability", "depth"),
    [
        pytest.param(0x0001, 1, id="the least"),
        pytest.param(0xFFFF & ~0x0020 & ~0x4000, 31, id="among other bits"),
        pytest.param(0x00E0, 32, id="0 for 32"),
    ],
)
def test_the_invalidate_queue_holds_1_to_32_requests(capability: int, depth: int) -> None:
    assert found(capability, 0).invalidate_queue_depth == depth


@pytest.mark.parametrize(
    ("control", "size"),
    [
        pytest.param(0x8000, 4096, id="one block"),
        pytest.param(0x8001, 8192, id="two blocks"),
        pytest.param(0x0009, 2 << 20, id="2 MiB"),
        pytest.param(0x901F, 8 << 40, id="the largest, beside bit 12"),
    ],
)
def test_the_smallest_translation_unit_is_a_power_of_two_blocks(control: int, size: int) -> None:
    assert found(0x0020, control).smallest_translation_unit == size


@pytest.mark.parametrize("control", [0x7FFF, 0x001F, 0x1000])
def test_only_bit_15_enables(control: int) -> None:
    assert not found(0x0020, control).enabled


def test_a_virtual_function_has_ats_of_its_own() -> None:
    layout = express_function((0x100, 0x000E), (0x200, ATS)).put(0x00, 4, 0xFFFFFFFF)
    config = layout.put(0x204, 2, 0x0020).put(0x206, 2, 0x8000).config()

    ats = Ats.find(config)

    assert ats
    assert ats.enabled


@pytest.mark.parametrize(
    "layout",
    [
        pytest.param(express_function((0x100, AER)), id="other Extended Capabilities only"),
        pytest.param(Layout().capabilities((0x40, POWER_MANAGEMENT)), id="conventional"),
    ],
)
def test_a_function_without_ats_has_none(layout: Layout) -> None:
    assert Ats.find(layout.config()) is None


def test_a_control_register_of_all_ones_is_not_taken_for_enabled() -> None:
    ats = found(0x0020, 0xFFFF)

    with pytest.raises(ConfigSpaceError, match="does not answer"):
        _ = ats.enabled


def test_judging_ats_costs_the_lists_and_two_words() -> None:
    config = endpoint(0x0020, 0x8000)
    ats = Ats.find(config)
    assert ats

    _ = ats.enabled, ats.smallest_translation_unit, ats.control
    _ = ats.invalidate_queue_depth, ats.page_aligned_request, ats.capability

    assert config.accesses == [
        (0x06, 2),
        (0x34, 1),
        (0x40, 2),
        (0x100, 4),
        (0x480, 4),
        (0x486, 2),
        (0x484, 2),
    ]
