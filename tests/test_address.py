import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcietune.address import PciAddress
from pcietune.errors import BadInputError, ExitCode

DOMAINS = st.integers(0, 0xFFFF) | st.integers(0x10000, 0xFFFFFFFF)
ADDRESSES = st.builds(
    PciAddress, DOMAINS, st.integers(0, 0xFF), st.integers(0, 0x1F), st.integers(0, 7)
)


@given(address=ADDRESSES)
def test_what_is_printed_is_parsed_again(address: PciAddress) -> None:
    assert PciAddress.parse(str(address)) == address


@given(addresses=st.lists(ADDRESSES))
def test_addresses_sort_by_domain_then_bus_then_device_then_function(
    addresses: list[PciAddress],
) -> None:
    assert sorted(addresses) == sorted(
        addresses, key=lambda a: (a.domain, a.bus, a.device, a.function)
    )


@pytest.mark.parametrize(
    ("text", "printed", "domain"),
    [
        pytest.param("0000:3b:00.0", "0000:3b:00.0", 0, id="as lspci -D prints it"),
        pytest.param("3b:1f.7", "0000:3b:1f.7", 0, id="as lspci prints it for domain 0"),
        pytest.param("10000:00:1c.3", "10000:00:1c.3", 0x10000, id="five digits: VMD"),
        pytest.param("1f392:01:00.0", "1f392:01:00.0", 0x1F392, id="five digits: cloud"),
        pytest.param("abcdef:01:00.0", "abcdef:01:00.0", 0xABCDEF, id="six digits"),
        pytest.param("fedcba98:01:00.0", "fedcba98:01:00.0", 0xFEDCBA98, id="eight digits"),
        pytest.param("00010000:01:00.0", "10000:01:00.0", 0x10000, id="zeros in front"),
        pytest.param("0000:3B:1F.0", "0000:3b:1f.0", 0, id="upper case"),
        pytest.param(" 0000:3b:00.0\n", "0000:3b:00.0", 0, id="white space around it"),
    ],
)
def test_an_address_prints_in_full_and_in_lower_case(text: str, printed: str, domain: int) -> None:
    address = PciAddress.parse(text)

    assert str(address) == printed
    assert address.domain == domain


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param("0000:3b:00", id="no function"),
        pytest.param("0000:3b:00.8", id="function 8"),
        pytest.param("0000:3b:20.0", id="device 20h"),
        pytest.param("000:3b:00.0", id="domain of three digits"),
        pytest.param("123456789:3b:00.0", id="domain of nine digits"),
        pytest.param("0000:3b:00.0 0000:3c:00.0", id="two"),
        pytest.param("00:1c.3/08:00.0", id="a path"),
        pytest.param("0000:3g:00.0", id="not hexadecimal"),
        pytest.param("0000:\u0663b:00.0", id="a digit of another script"),
        pytest.param("65410", id="what YAML makes of 18:10:10"),
    ],
)
def test_another_form_is_bad_input(text: str) -> None:
    with pytest.raises(BadInputError, match="is not a PCI address") as caught:
        PciAddress.parse(text)

    assert caught.value.exit_code is ExitCode.BAD_INPUT
    assert "0000:3b:00.0" in caught.value.hint


def test_an_address_keeps_its_place_in_a_set() -> None:
    assert len({PciAddress.parse("3b:00.0"), PciAddress.parse("0000:3b:00.0")}) == 1


def test_an_address_is_no_string() -> None:
    assert PciAddress.parse("3b:00.0") != "0000:3b:00.0"


def test_device_and_function_print_as_the_kernels_paths_have_them() -> None:
    assert PciAddress.parse("0000:3b:1f.7").devfn == "1f.7"


def test_a_wider_domain_comes_after_every_narrower_one() -> None:
    narrow, wide = PciAddress.parse("ffff:ff:1f.7"), PciAddress.parse("10000:00:00.0")

    assert narrow < wide
