import pytest
from registers.layout import ADDRESS, Layout, WatchedConfig

from pcietune.errors import ConfigSpaceError, ExitCode
from pcietune.registers.config_space import ConfigBytes


@pytest.mark.parametrize(
    ("width", "value"),
    [pytest.param(1, 0xB3), pytest.param(2, 0x15B3), pytest.param(4, 0x101B15B3)],
)
def test_registers_are_little_endian(width: int, value: int) -> None:
    config = ConfigBytes(ADDRESS, bytes.fromhex("b3151b10"))

    assert config.read(0, width) == value


@pytest.mark.parametrize(
    ("offset", "width"),
    [
        pytest.param(0x100, 1, id="byte behind the end"),
        pytest.param(0x100, 4, id="doubleword behind the end"),
        pytest.param(-4, 4, id="before the start"),
        pytest.param(0x41, 2, id="unaligned word"),
        pytest.param(0x42, 4, id="unaligned doubleword"),
    ],
)
def test_a_register_that_is_not_there_is_named(offset: int, width: int) -> None:
    config = Layout(0x100).config()

    with pytest.raises(ConfigSpaceError, match=f"3b:00.0: no {width}-byte register at") as caught:
        config.read(offset, width)

    assert caught.value.exit_code is ExitCode.UNREADABLE
    assert config.accesses == []


def test_a_register_that_is_cut_off_is_not_there() -> None:
    with pytest.raises(ConfigSpaceError, match="no 4-byte register at 0x100 in 258 bytes"):
        Layout(0x102).config().read(0x100, 4)


def test_the_last_register_is_there() -> None:
    assert Layout().put(0xFFC, 4, 0x00010203).config().read(0xFFC, 4) == 0x00010203


def test_a_register_is_fetched_once() -> None:
    config = Layout().config()

    config.read(0x106, 2)
    config.read(0x106, 2)
    config.read_word(0x106)

    assert config.accesses == [(0x106, 2)]


def test_reading_again_gives_and_remembers_what_the_register_says_now() -> None:
    config = WatchedConfig(Layout().put(0x106, 2, 0x001D).data(), answers_left=1)
    config.read(0x106, 2)

    assert config.read_again(0x106, 2) == 0xFFFF
    assert config.read(0x106, 2) == 0xFFFF
    assert config.accesses == [(0x106, 2), (0x106, 2)]


def test_a_word_of_all_ones_is_a_function_that_does_not_answer() -> None:
    config = Layout().put(0x106, 2, 0xFFFF).config()

    with pytest.raises(ConfigSpaceError, match=r"0000:3b:00\.0 does not answer") as caught:
        config.read_word(0x106)

    assert "powered down" in caught.value.hint
