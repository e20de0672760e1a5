import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcietune.registers.fields import BitField, MaskedWrite

WORDS = st.integers(0, 0xFFFF)


@pytest.mark.parametrize(
    ("low", "width", "value"),
    [
        pytest.param(0, 1, 0x0, id="bit 0"),
        pytest.param(15, 1, 0x1, id="bit 15"),
        pytest.param(4, 4, 0xB, id="bits 7:4"),
        pytest.param(8, 8, 0x8A, id="bits 15:8"),
        pytest.param(0, 16, 0x8AB4, id="the whole word"),
    ],
)
def test_a_field_is_its_bits_shifted_down(low: int, width: int, value: int) -> None:
    assert BitField(low, width).get(0x8AB4) == value


@given(word=WORDS, value=WORDS, mask=WORDS)
def test_a_write_changes_the_masked_bits_and_no_others(word: int, value: int, mask: int) -> None:
    merged = MaskedWrite(offset=0x106, width=2, value=value & mask, mask=mask).merge(word)

    assert merged & mask == value & mask
    assert merged & ~mask == word & ~mask


@given(word=WORDS, value=WORDS, mask=WORDS)
def test_a_write_holds_where_it_would_change_nothing(word: int, value: int, mask: int) -> None:
    write = MaskedWrite(offset=0x106, width=2, value=value & mask, mask=mask)

    assert write.holds_in(word) == (write.merge(word) == word)


@given(word=WORDS, value=WORDS, mask=WORDS)
def test_a_write_holds_in_what_it_made(word: int, value: int, mask: int) -> None:
    write = MaskedWrite(offset=0x106, width=2, value=value & mask, mask=mask)

    assert write.holds_in(write.merge(word))


@pytest.mark.parametrize(
    ("offset", "width", "value", "mask", "complaint"),
    [
        pytest.param(0x106, 2, 0x41, 0x40, "bits outside mask 0x40", id="value beyond the mask"),
        pytest.param(0x107, 2, 0, 0x40, "2-byte write at 0x107", id="unaligned word"),
        pytest.param(0x106, 4, 0, 0x40, "4-byte write at 0x106", id="unaligned doubleword"),
        pytest.param(0x106, 2, 0, 0x10000, "2-byte write at 0x106", id="mask beyond the register"),
        pytest.param(0x106, 3, 0, 0x40, "3-byte write at 0x106", id="no such width"),
        pytest.param(0x100, 8, 0, 0x40, "8-byte write at 0x100", id="too wide"),
    ],
)
def test_a_write_that_no_register_can_hold_is_refused(
    offset: int, width: int, value: int, mask: int, complaint: str
) -> None:
    with pytest.raises(ValueError, match=complaint):
        MaskedWrite(offset=offset, width=width, value=value, mask=mask)
