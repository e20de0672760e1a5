"""Device Serial Numbers and VPD are zeroed, and nothing else is."""

from trees.config import ENDPOINT, ConfigBuilder

from pcietune.address import PciAddress
from pcietune.host.recordings.serial_numbers import zero_serial_numbers

ADDRESS = PciAddress.parse("0000:3b:00.0")


def _nic() -> ConfigBuilder:
    builder = ConfigBuilder("15b3:101b", 0x020700)
    builder.vital_product_data(address=0x8010, data=0x12345678, at=0x48)
    return builder.express(ENDPOINT).ats(0x0020, 0x8000)


def test_the_serial_number_is_zeroed() -> None:
    data = _nic().serial_number(0x0123456789ABCDEF, at=0x150).build()

    zeroed = zero_serial_numbers(ADDRESS, data)

    assert zeroed[0x150:0x15C] == data[0x150:0x154] + bytes(8)


def test_the_last_read_of_vital_product_data_is_zeroed() -> None:
    data = _nic().build()

    zeroed = zero_serial_numbers(ADDRESS, data)

    assert data[0x48:0x50] == bytes([0x03, data[0x49], 0x10, 0x80, 0x78, 0x56, 0x34, 0x12])
    assert zeroed[0x48:0x50] == bytes([0x03, data[0x49], 0, 0, 0, 0, 0, 0])


def test_no_other_byte_changes() -> None:
    data = _nic().serial_number(0x0123456789ABCDEF, at=0x150).build()

    zeroed = zero_serial_numbers(ADDRESS, data)

    changed = {offset for offset in range(4096) if data[offset] != zeroed[offset]}
    assert changed == {*range(0x4A, 0x50), *range(0x154, 0x15C)}


def test_a_broken_list_hides_no_serial_number() -> None:
    builder = _nic().serial_number(0x0123456789ABCDEF, at=0x150)
    data = builder.next_extended(0x100, 0x100).build()

    zeroed = zero_serial_numbers(ADDRESS, data)

    assert zeroed[0x150:0x15C] == data[0x150:0x154] + bytes(8)


def test_a_function_that_does_not_answer_stays_as_it_is() -> None:
    data = b"\xff" * 4096

    assert zero_serial_numbers(ADDRESS, data) == data


def test_64_bytes_hold_no_serial_number() -> None:
    data = _nic().cut(64).build()

    assert zero_serial_numbers(ADDRESS, data) == data
