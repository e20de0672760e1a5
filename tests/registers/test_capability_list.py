import pytest
from hypothesis import given
from hypothesis import strategies as st
from registers.layout import (
    ACS,
    ADDRESS,
    AER,
    ATS,
    CAPABILITIES_POINTER,
    PCI_EXPRESS,
    POWER_MANAGEMENT,
    SERIAL_NUMBER,
    STATUS,
    VENDOR_SPECIFIC,
    Layout,
    WatchedConfig,
    express_function,
)

from pcietune.errors import ConfigSpaceError, ExitCode
from pcietune.registers.capability_list import (
    CapabilityId,
    ExtendedCapabilityId,
    capabilities,
    extended_capabilities,
    find_capability,
    find_extended,
)
from pcietune.registers.config_space import ConfigBytes


def test_capabilities_come_in_list_order() -> None:
    config = (
        Layout()
        .capabilities((0x60, PCI_EXPRESS), (0x48, 0x03), (0x9C, 0x11), (0x40, POWER_MANAGEMENT))
        .config()
    )

    assert [(found.offset, found.id) for found in capabilities(config)] == [
        (0x60, PCI_EXPRESS),
        (0x48, 0x03),
        (0x9C, 0x11),
        (0x40, POWER_MANAGEMENT),
    ]


def test_no_pointer_counts_where_status_says_that_there_is_no_list() -> None:
    config = Layout().capabilities((0x40, PCI_EXPRESS)).put(STATUS, 2, 0x2220).config()

    assert capabilities(config) == []


def test_a_null_pointer_is_an_empty_list() -> None:
    config = Layout().put(STATUS, 2, 0x0010).config()

    assert capabilities(config) == []


@pytest.mark.parametrize(
    ("layout", "complaint"),
    [
        pytest.param(
            Layout().capabilities((0x40, POWER_MANAGEMENT)).put(0x41, 1, 0x40),
            r"Capability list is broken: at 0x040 it loops",
            id="loops to itself",
        ),
        pytest.param(
            Layout()
            .capabilities((0x80, POWER_MANAGEMENT), (0x40, PCI_EXPRESS), (0x50, VENDOR_SPECIFIC))
            .put(0x51, 1, 0x40),
            r"at 0x040 it loops",
            id="loops in the middle",
        ),
        pytest.param(
            Layout().capabilities((0x40, POWER_MANAGEMENT)).put(CAPABILITIES_POINTER, 1, 0x34),
            r"at 0x034 it lies below 0x040",
            id="first pointer into the header",
        ),
        pytest.param(
            Layout().capabilities((0x40, POWER_MANAGEMENT)).put(0x41, 1, 0x3C),
            r"at 0x03c it lies below 0x040",
            id="next pointer into the header",
        ),
        pytest.param(
            Layout().capabilities((0x40, POWER_MANAGEMENT)).put(CAPABILITIES_POINTER, 1, 0x42),
            r"at 0x042 it is not aligned",
            id="first pointer unaligned",
        ),
        pytest.param(
            Layout().capabilities((0x40, POWER_MANAGEMENT)).put(0x41, 1, 0x51),
            r"at 0x051 it is not aligned",
            id="next pointer unaligned",
        ),
        pytest.param(
            Layout().capabilities((0x40, POWER_MANAGEMENT)).put(CAPABILITIES_POINTER, 1, 0xFF),
            r"at 0x0ff it is not aligned",
            id="first pointer all ones",
        ),
        pytest.param(
            Layout().capabilities((0x40, POWER_MANAGEMENT), (0x50, 0xFF)).put(0x51, 1, 0xFF),
            r"at 0x050 it has ID ffh",
            id="header all ones",
        ),
        pytest.param(
            Layout().capabilities((0x40, POWER_MANAGEMENT), (0x50, 0xFF), (0x60, PCI_EXPRESS)),
            r"at 0x050 it has ID ffh",
            id="ID all ones",
        ),
    ],
)
def test_a_broken_list_is_an_error_that_says_where(layout: Layout, complaint: str) -> None:
    with pytest.raises(ConfigSpaceError, match=r"^0000:3b:00\.0: .*" + complaint) as caught:
        capabilities(layout.config())

    assert caught.value.exit_code is ExitCode.UNREADABLE
    assert caught.value.hint


@pytest.mark.parametrize(
    "chain",
    [
        pytest.param(
            [
                (0x100, SERIAL_NUMBER),
                (0xFB4, AER),
                (0x138, 0x0004),
                (0x10C, 0x0019),
                (0x148, 0x0002),
                (0xE00, 0x0012),
                (0xB00, 0x0018),
                (0xB70, 0x000B),
            ],
            id="PLX upstream port",
        ),
        pytest.param(
            [
                (0x100, SERIAL_NUMBER),
                (0xFB4, AER),
                (0x138, 0x0004),
                (0x10C, 0x0019),
                (0x148, 0x0002),
                (0xE00, 0x0012),
                (0xF24, ACS),
                (0xB70, 0x000B),
            ],
            id="PLX downstream port",
        ),
    ],
)
def test_extended_pointers_may_go_backwards(chain: list[tuple[int, int]]) -> None:
    config = express_function(*chain).config()

    assert [(found.offset, found.id) for found in extended_capabilities(config)] == chain


def test_the_last_four_bytes_can_hold_an_extended_capability() -> None:
    config = express_function((0x100, AER), (0xFFC, ACS)).config()

    assert [found.offset for found in extended_capabilities(config)] == [0x100, 0xFFC]


def test_the_version_is_in_bits_19_to_16() -> None:
    config = express_function().put(0x100, 4, 0x000A_0001).config()

    (only,) = extended_capabilities(config)

    assert (only.id, only.version) == (AER, 0xA)


def test_a_first_header_of_zeros_is_an_empty_list() -> None:
    assert extended_capabilities(express_function().config()) == []


def test_a_first_header_of_all_ones_is_an_empty_list_where_the_function_answers() -> None:
    config = express_function().put(0x100, 4, 0xFFFFFFFF).config()

    assert extended_capabilities(config) == []


def test_a_virtual_function_answers_though_its_vendor_id_is_all_ones() -> None:
    config = express_function().put(0x00, 4, 0xFFFFFFFF).put(0x100, 4, 0xFFFFFFFF).config()

    assert extended_capabilities(config) == []


def test_a_null_capability_is_passed_over() -> None:
    config = express_function((0x100, 0), (0x140, 0), (0x200, ACS)).put(0x100, 4, 0x1400_0000)

    assert [found.offset for found in extended_capabilities(config.config())] == [0x200]


@pytest.mark.parametrize(
    ("layout", "complaint"),
    [
        pytest.param(
            express_function((0x100, AER)).put(0x100, 4, 0x1001_0001),
            r"Extended Capability list is broken: at 0x100 it loops",
            id="loops to itself",
        ),
        pytest.param(
            express_function((0x100, AER), (0x140, ACS)).put(0x140, 4, 0x1001_000D),
            r"at 0x100 it loops",
            id="loops to the start",
        ),
        pytest.param(
            express_function((0x100, 0), (0x140, 0)).put(0x140, 4, 0x1000_0000),
            r"at 0x100 it loops",
            id="Null capabilities loop",
        ),
        pytest.param(
            express_function((0x100, AER)).put(0x100, 4, 0x1401_0001),
            r"at 0x140 it is cut off: the header is 0",
            id="cut off",
        ),
        pytest.param(
            express_function((0x100, AER)).put(0x100, 4, 0x1421_0001),
            r"at 0x142 it is not aligned",
            id="unaligned",
        ),
        pytest.param(
            express_function((0x100, AER)).put(0x100, 4, 0xFFF1_0001),
            r"at 0xfff it is not aligned",
            id="pointer of all ones",
        ),
        pytest.param(
            express_function((0x100, AER)).put(0x100, 4, 0x0FC1_0001),
            r"at 0x0fc it lies below 0x100",
            id="just below 100h",
        ),
        pytest.param(
            express_function((0x100, AER)).put(0x100, 4, 0x0041_0001),
            r"at 0x004 it lies below 0x100",
            id="into the header",
        ),
        pytest.param(
            express_function((0x100, AER), (0x140, ACS)).put(0x140, 4, 0xFFFFFFFF),
            r"at 0x140 it reads as all ones",
            id="header of all ones",
        ),
    ],
)
def test_a_broken_extended_list_is_an_error_that_says_where(layout: Layout, complaint: str) -> None:
    with pytest.raises(ConfigSpaceError, match=r"^0000:3b:00\.0: .*" + complaint) as caught:
        extended_capabilities(layout.config())

    assert caught.value.exit_code is ExitCode.UNREADABLE
    assert caught.value.hint


@pytest.mark.parametrize("answers", range(7))
def test_a_function_that_vanishes_during_the_walk_does_not_answer(answers: int) -> None:
    # seven accesses: Status, pointer, two capabilities, three Extended Capabilities
    layout = express_function((0x100, AER), (0x140, ACS), (0x150, ATS))
    layout.capabilities((0x40, PCI_EXPRESS), (0x80, POWER_MANAGEMENT))
    config = WatchedConfig(layout.data(), answers_left=answers)

    with pytest.raises(ConfigSpaceError, match=r"0000:3b:00\.0 does not answer"):
        extended_capabilities(config)


def test_a_conventional_function_has_no_extended_list_whatever_it_shows_at_100h() -> None:
    layout = Layout().capabilities((0x40, POWER_MANAGEMENT)).put(0x100, 4, 0x1401_000D)
    config = layout.config()

    assert extended_capabilities(config) == []
    assert all(offset < 0x100 for offset, _ in config.accesses)


def test_an_express_function_of_256_bytes_is_not_taken_for_one_without_acs() -> None:
    config = Layout(0x100).capabilities((0x40, PCI_EXPRESS)).config()

    with pytest.raises(ConfigSpaceError, match="no Extended Configuration Space") as caught:
        extended_capabilities(config)

    assert "MMCONFIG" in caught.value.hint


def test_a_conventional_function_of_256_bytes_has_no_extended_capability() -> None:
    config = Layout(0x100).capabilities((0x40, POWER_MANAGEMENT)).config()

    assert extended_capabilities(config) == []


def test_a_list_behind_the_bytes_that_there_are_is_an_error() -> None:
    config = Layout(0x40).put(STATUS, 2, 0x0010).put(CAPABILITIES_POINTER, 1, 0x40).config()

    with pytest.raises(ConfigSpaceError, match="at 0x040 in 64 bytes"):
        capabilities(config)


def test_of_two_capabilities_with_one_id_the_first_is_found() -> None:
    layout = express_function((0x100, AER), (0x200, ACS), (0x140, ACS))
    layout.capabilities((0x80, PCI_EXPRESS), (0x40, PCI_EXPRESS))

    conventional = find_capability(layout.config(), CapabilityId.PCI_EXPRESS)
    extended = find_extended(layout.config(), ExtendedCapabilityId.ACS)

    assert conventional
    assert conventional.offset == 0x80
    assert extended
    assert extended.offset == 0x200


def test_a_capability_that_is_not_there_is_none() -> None:
    config = express_function((0x100, AER)).config()

    assert find_capability(config, CapabilityId.VITAL_PRODUCT_DATA) is None
    assert find_extended(config, ExtendedCapabilityId.ATS) is None


def test_the_walks_read_each_header_once_and_nothing_else() -> None:
    layout = express_function((0x100, AER), (0xF24, ACS), (0x140, ATS))
    layout.capabilities((0x80, POWER_MANAGEMENT), (0x40, PCI_EXPRESS))
    config = layout.config()

    for wanted in ExtendedCapabilityId:
        find_extended(config, wanted)

    assert config.accesses == [
        (0x06, 2),
        (0x34, 1),
        (0x80, 2),
        (0x40, 2),
        (0x100, 4),
        (0xF24, 4),
        (0x140, 4),
    ]


PLACES = [0x100, 0x104, 0x148, 0xFB4, 0xFFC]


@st.composite
def disorderly(draw: st.DrawFn) -> bytes:
    """Give a function whose Extended Capabilities are anything and lead anywhere."""
    layout = express_function()
    for place in PLACES:
        following = draw(st.sampled_from(PLACES) | st.integers(0, 0xFFF))
        layout.put(place, 4, following << 20 | draw(st.integers(0, 0xFFFFF)))
    return layout.data()


@st.composite
def noisy(draw: st.DrawFn) -> bytes:
    """Give a function whose bytes are anything, but for a list that begins."""
    data = bytearray(draw(st.binary(min_size=0x40, max_size=0x1000)))
    data[STATUS] |= 0x10
    data[CAPABILITIES_POINTER] &= 0xFC
    return bytes(data)


@given(data=disorderly() | noisy() | st.binary(max_size=0x40))
def test_a_walk_of_any_bytes_ends_with_distinct_places_or_an_error(data: bytes) -> None:
    for walk in (capabilities, extended_capabilities):
        try:
            offsets = [found.offset for found in walk(ConfigBytes(ADDRESS, data))]
        except ConfigSpaceError:
            continue

        assert len(set(offsets)) == len(offsets)
        assert all(offset % 4 == 0 and 0x40 <= offset < len(data) for offset in offsets)
