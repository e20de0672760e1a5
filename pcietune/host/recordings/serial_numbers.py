"""Takes out of Configuration Space what tells one device from its siblings."""

from pcietune.address import PciAddress
from pcietune.errors import PcietuneError
from pcietune.registers.capability_list import (
    CapabilityId,
    ExtendedCapabilityId,
    capabilities,
    extended_capabilities,
)
from pcietune.registers.config_space import CONVENTIONAL_SIZE, ConfigBytes

_SERIAL_NUMBER = range(0x04, 0x0C)  # 64 bits, in the Device Serial Number Extended Capability
_VPD = range(0x02, 0x08)  # VPD Address and VPD Data: what was read last of part and serial numbers
_HEADER = 0x0001_0003  # of a Device Serial Number, version 1, without its next pointer
_WITHOUT_NEXT = 0x000F_FFFF


def zero_serial_numbers(address: PciAddress, data: bytes) -> bytes:
    """Return Configuration Space with its Device Serial Number and its last read of VPD zeroed.

    Where the list of extended capabilities is broken, whatever looks like a Device Serial Number
    is zeroed.
    """
    config = ConfigBytes(address, data)
    zeroed = bytearray(data)
    for start in _vital_product_data(config):
        _zero(zeroed, start, _VPD)
    for start in _serial_numbers(config, data):
        _zero(zeroed, start, _SERIAL_NUMBER)
    return bytes(zeroed)


def _vital_product_data(config: ConfigBytes) -> list[int]:
    try:
        found = capabilities(config)
    except PcietuneError:
        return []
    return [c.offset for c in found if c.id == CapabilityId.VITAL_PRODUCT_DATA]


def _serial_numbers(config: ConfigBytes, data: bytes) -> list[int]:
    try:
        found = extended_capabilities(config)
    except PcietuneError:
        return [
            offset
            for offset in range(CONVENTIONAL_SIZE, len(data), 4)
            if int.from_bytes(data[offset : offset + 4], "little") & _WITHOUT_NEXT == _HEADER
        ]
    return [c.offset for c in found if c.id == ExtendedCapabilityId.DEVICE_SERIAL_NUMBER]


def _zero(data: bytearray, start: int, part: range) -> None:
    """Zero a part of the capability at ``start``, as far as there is one."""
    for offset in part:
        if start + offset < len(data):
            data[start + offset] = 0
