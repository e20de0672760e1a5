"""Configuration Spaces for tests, laid out register by register."""

from pcietune.address import PciAddress
from pcietune.registers.config_space import ConfigBytes

ADDRESS = PciAddress(0, 0x3B, 0, 0)

# IDs and registers, from the kernel's pci_regs.h
PCI_EXPRESS, POWER_MANAGEMENT, VENDOR_SPECIFIC = 0x10, 0x01, 0x09
AER, SERIAL_NUMBER, ACS, ATS, SR_IOV = 0x0001, 0x0003, 0x000D, 0x000F, 0x0010
STATUS, CAPABILITIES_POINTER = 0x06, 0x34


class WatchedConfig(ConfigBytes):
    """Notes each access that reaches the function, as (offset, width in bytes).

    Attributes:
        accesses: Oldest first.
        answers_left: Accesses after which the function is gone and reads as all ones; None for
            never.
    """

    __slots__ = ("accesses", "answers_left")

    def __init__(self, data: bytes, *, answers_left: int | None = None) -> None:
        super().__init__(ADDRESS, data)
        self.accesses: list[tuple[int, int]] = []
        self.answers_left = answers_left

    def _fetch(self, offset: int, width: int) -> bytes:
        gone = self.answers_left is not None and len(self.accesses) >= self.answers_left
        self.accesses.append((offset, width))
        return b"\xff" * width if gone else super()._fetch(offset, width)


class Layout:
    """A function's registers; all that a test does not name are 0."""

    def __init__(self, size: int = 0x1000) -> None:
        self._data = bytearray(size)

    def put(self, offset: int, width: int, value: int) -> "Layout":
        """Set the register of ``width`` bytes at ``offset``."""
        self._data[offset : offset + width] = value.to_bytes(width, "little")
        return self

    def capabilities(self, *chain: tuple[int, int]) -> "Layout":
        """Chain (offset, Capability ID) pairs, and say in Status that there is a list."""
        offsets = [offset for offset, _ in chain]
        self.put(STATUS, 2, 0x0010).put(CAPABILITIES_POINTER, 1, offsets[0])
        for (offset, id_), following in zip(chain, [*offsets, 0][1:], strict=True):
            self.put(offset, 2, following << 8 | id_)
        return self

    def extended(self, *chain: tuple[int, int]) -> "Layout":
        """Chain (offset, Extended Capability ID) pairs, all of version 1."""
        offsets = [offset for offset, _ in chain]
        for (offset, id_), following in zip(chain, [*offsets, 0][1:], strict=True):
            self.put(offset, 4, following << 20 | 1 << 16 | id_)
        return self

    def data(self) -> bytes:
        """Return the bytes."""
        return bytes(self._data)

    def config(self) -> WatchedConfig:
        """Return the Configuration Space."""
        return WatchedConfig(self.data())


def express_function(*chain: tuple[int, int]) -> Layout:
    """Return a PCI Express Endpoint with these (offset, Extended Capability ID) pairs."""
    return Layout().capabilities((0x40, PCI_EXPRESS)).put(0x42, 2, 0x0002).extended(*chain)
