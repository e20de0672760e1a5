"""What the registers of a PCI Express capability hold."""

import struct
from dataclasses import dataclass


@dataclass(frozen=True)
class Express:
    """The fields of one that a test may want otherwise.

    Attributes:
        speed: Link Speed code that its link is capable of (4: 16 GT/s).
        lanes: Lanes that its link is capable of.
        running: Speed code and lanes that the link runs at; None for what it is capable of.
        target: Target Link Speed code; None for ``speed``.
        payload_capable: Code of Max_Payload_Size Supported (0: 128 bytes, 1: 256 bytes).
        payload: Code of Max_Payload_Size.
        relaxed_ordering: Enable Relaxed Ordering.
    """

    speed: int = 4
    lanes: int = 16
    running: tuple[int, int] | None = None
    target: int | None = None
    payload_capable: int = 1
    payload: int = 1
    relaxed_ordering: bool = True

    def body(self, port_type: int) -> bytes:
        """Return the capability, version 2, without its two-byte header."""
        speed, lanes = self.running or (self.speed, self.lanes)
        control = self.relaxed_ordering << 4 | self.payload << 5 | 2 << 12  # reads of 512 bytes
        target = self.speed if self.target is None else self.target
        body = bytearray(0x3C - 2)
        struct.pack_into("<H", body, 0x02 - 2, 0x0002 | port_type << 4)
        struct.pack_into("<I", body, 0x04 - 2, 0x8000 | self.payload_capable)
        struct.pack_into("<H", body, 0x08 - 2, control)  # Device Control
        struct.pack_into("<I", body, 0x0C - 2, self.speed | self.lanes << 4)  # Link Capabilities
        struct.pack_into("<H", body, 0x12 - 2, speed | lanes << 4)  # Link Status
        struct.pack_into("<I", body, 0x2C - 2, (2 << self.speed) - 2)  # Link Capabilities 2
        struct.pack_into("<H", body, 0x30 - 2, target)  # Link Control 2
        return bytes(body)
