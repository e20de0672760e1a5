"""A function's Base Address Registers, as sysfs ``resource`` has them: no register is read."""

from dataclasses import dataclass

_BARS = 6  # the ROM's, a bridge's windows and the VFs' BARs follow

# Flags of a resource (include/linux/ioport.h).
_PORTS = 0x0000_0100
_MEMORY = 0x0000_0200
_PREFETCHABLE = 0x0000_2000
_64_BITS = 0x0010_0000
_WITHOUT_ADDRESS = 0x3000_0000  # disabled, or not set


@dataclass(frozen=True, slots=True)
class Bar:
    """One BAR.

    Attributes:
        start: First address; 0 if it has none.
        size: In bytes.
        flags: The kernel's.
    """

    start: int
    size: int
    flags: int

    @property
    def assigned(self) -> bool:
        """Whether it has an address, so that anybody can reach what is behind it."""
        return self.start != 0 and not self.flags & _WITHOUT_ADDRESS

    @property
    def is_ports(self) -> bool:
        """Whether it is of I/O ports."""
        return bool(self.flags & _PORTS)

    @property
    def is_memory(self) -> bool:
        """Whether it is of memory, not of I/O ports."""
        return bool(self.flags & _MEMORY)

    @property
    def is_large_memory(self) -> bool:
        """Whether it is of the kind behind which a GPU shows its memory."""
        wanted = _MEMORY | _PREFETCHABLE | _64_BITS
        return self.flags & wanted == wanted


def bars_of(resource: str) -> list[Bar]:
    """Return the BARs that there are, from the text of a sysfs ``resource`` file.

    Raises:
        ValueError: It is no such text.
    """
    bars = []
    rows = resource.splitlines()
    if len(rows) < _BARS:
        raise ValueError(f"{len(rows)} rows: cut off")
    for row in rows[:_BARS]:
        start, end, flags = (int(number, 16) for number in row.split())
        if flags:
            bars.append(Bar(start, end - start + 1, flags))
    return bars
