"""Configuration Space as real bytes, laid out by hand from the specification.

Nothing of pcietune is used here, so that a test compares two readings of the specification.
"""

import struct
from typing import Self

from trees.express import Express

CONVENTIONAL_SIZE = 256  # bytes
EXTENDED_SIZE = 4096  # bytes

ENDPOINT = 0x0  # Device/Port Type, PCI Express Capabilities Register bits 7:4
ROOT_PORT = 0x4
UPSTREAM_PORT = 0x5
DOWNSTREAM_PORT = 0x6
PCIE_TO_PCI_BRIDGE = 0x7
PCI_TO_PCIE_BRIDGE = 0x8
RC_INTEGRATED_ENDPOINT = 0x9

_BRIDGE_HEADER = 1
_POWER_MANAGEMENT = 0x01
_VITAL_PRODUCT_DATA = 0x03
_EXPRESS = 0x10
_SERIAL_NUMBER = 0x0003
_ACS = 0x000D
_ATS = 0x000F
_SRIOV = 0x0010

_AS_WANTED = Express()


class ConfigBuilder:
    """Builds one function's Configuration Space; every method returns the builder.

    Capabilities are linked in the order in which they are added, wherever they stand. Each takes
    ``at``, its offset in bytes; None means the first free place behind the one before. The first
    capability of each list stands at 0x40 and 0x100 unless it says otherwise; the specification
    fixes 0x100, so another first place there makes a function without extended capabilities.

    Attributes:
        vendor: Vendor ID, 16 bits.
        device: Device ID, 16 bits.
        subsystem_vendor: Subsystem Vendor ID, 16 bits; of a type 0 header only.
        subsystem_device: Subsystem ID, 16 bits; of a type 0 header only.
        class_code: Base class, sub-class and programming interface, 24 bits.
    """

    def __init__(self, function_id: str, class_code: int, *, subsystem: str = "0000:0000") -> None:
        """Lay out the header of the function with this ``vendor:device`` and class."""
        self.vendor, self.device = (int(part, 16) for part in function_id.split(":"))
        self.subsystem_vendor, self.subsystem_device = (
            int(part, 16) for part in subsystem.split(":")
        )
        self.class_code = class_code
        self._data = bytearray(EXTENDED_SIZE)
        self._size = EXTENDED_SIZE
        self._pointer: int | None = None  # of the last capability, if any
        self._free = 0x40
        self._extended_header: int | None = None  # of the last extended capability, if any
        self._extended_free = 0x100
        self.put(0x00, struct.pack("<HHHH", self.vendor, self.device, 0x0006, 0))
        self.put(0x08, (class_code << 8).to_bytes(4, "little"))
        if class_code >> 8 == 0x0604:
            self.put(0x0E, bytes([_BRIDGE_HEADER]))
        else:
            self.put(0x2C, struct.pack("<HH", self.subsystem_vendor, self.subsystem_device))

    def put(self, offset: int, data: bytes) -> Self:
        """Write raw bytes, over whatever stands there."""
        self._data[offset : offset + len(data)] = data
        return self

    def word(self, offset: int, value: int) -> Self:
        """Write a raw 16-bit register."""
        return self.put(offset, struct.pack("<H", value))

    def buses(self, primary: int, secondary: int, subordinate: int) -> Self:
        """Write the Bus Numbers of a bridge."""
        return self.put(0x18, bytes([primary, secondary, subordinate]))

    def capability(self, identity: int, body: bytes, *, at: int | None = None) -> Self:
        """Add a capability; ``body`` is what follows its two-byte header."""
        offset = self._free if at is None else at
        if self._pointer is None:
            self.word(0x06, 0x0010)  # Status: Capabilities List
            self.put(0x34, bytes([offset]))
        else:
            self.put(self._pointer + 1, bytes([offset]))
        self.put(offset, bytes([identity, 0]) + body)
        self._pointer = offset
        self._free = _aligned(offset + 2 + len(body))
        return self

    def extended(
        self, identity: int, body: bytes, *, at: int | None = None, version: int = 1
    ) -> Self:
        """Add an extended capability; ``body`` is what follows its four-byte header."""
        offset = self._extended_free if at is None else at
        if self._extended_header is not None:
            self.next_extended(self._extended_header, offset)
        self.put(offset, struct.pack("<I", identity | version << 16) + body)
        self._extended_header = offset
        self._extended_free = _aligned(offset + 4 + len(body))
        return self

    def next_extended(self, header: int, target: int) -> Self:
        """Point the extended capability at ``header`` to any ``target``, however wrong."""
        low = struct.unpack_from("<H", self._data, header + 2)[0] & 0xF
        return self.word(header + 2, low | target << 4)

    def power_management(self, *, at: int | None = None) -> Self:
        """Add PCI Power Management, version 3, in D0."""
        return self.capability(_POWER_MANAGEMENT, struct.pack("<HHH", 0x0003, 0, 0), at=at)

    def vital_product_data(self, *, address: int, data: int, at: int | None = None) -> Self:
        """Add VPD as a driver left it: ``address`` (bit 15: done) and the ``data`` read last."""
        body = struct.pack("<HI", address, data)
        return self.capability(_VITAL_PRODUCT_DATA, body, at=at)

    def express(
        self, port_type: int, registers: Express = _AS_WANTED, *, at: int | None = None
    ) -> Self:
        """Add PCI Express with this Device/Port Type."""
        return self.capability(_EXPRESS, registers.body(port_type), at=at)

    def acs(self, capability: int, control: int, *, at: int | None = None) -> Self:
        """Add ACS: the whole words of both registers, and an Egress Control Vector if it has."""
        vector_bits = (capability >> 8 & 0xFF) or 256
        vector = bytes(_aligned((vector_bits + 7) // 8)) if capability & 1 << 5 else b""
        return self.extended(_ACS, struct.pack("<HH", capability, control) + vector, at=at)

    def ats(self, capability: int, control: int, *, at: int | None = None) -> Self:
        """Add ATS: the whole words of both registers."""
        return self.extended(_ATS, struct.pack("<HH", capability, control), at=at)

    def sriov(self, *, total: int, enabled: int, vf_device: int, at: int | None = None) -> Self:
        """Add SR-IOV with ``total`` VFs, of which the first ``enabled`` exist."""
        body = bytearray(0x40 - 4)
        struct.pack_into("<H", body, 0x08 - 4, 0x0009 if enabled else 0)  # VF Enable, VF MSE
        struct.pack_into("<HHH", body, 0x0C - 4, total, total, enabled)
        struct.pack_into("<HHHH", body, 0x14 - 4, 1, 1, 0, vf_device)  # offset, stride
        struct.pack_into("<II", body, 0x1C - 4, 0x553, 1)  # page sizes: supported, system's
        return self.extended(_SRIOV, bytes(body), at=at)

    def serial_number(self, number: int, *, at: int | None = None) -> Self:
        """Add Device Serial Number; ``number`` has 64 bits."""
        return self.extended(_SERIAL_NUMBER, struct.pack("<Q", number), at=at)

    def all_ones(self) -> Self:
        """Make every byte read ff, as of a function that does not answer."""
        return self.put(0, b"\xff" * EXTENDED_SIZE)

    def cut(self, size: int) -> Self:
        """Keep only the first ``size`` bytes: 64 as a plain user reads, 256 without ECAM."""
        self._size = size
        return self

    def build(self) -> bytes:
        """Return the bytes."""
        return bytes(self._data[: self._size])


def _aligned(offset: int) -> int:
    """Return the lowest multiple of four that is not below ``offset``."""
    return (offset + 3) & ~3
