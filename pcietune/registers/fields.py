"""Bit fields and masked writes: the only arithmetic on register words."""


class BitField:
    """Some adjacent bits of a register.

    Attributes:
        low: Number of the lowest bit.
        width: Number of bits.
    """

    __slots__ = ("low", "width")

    low: int
    width: int

    def __init__(self, low: int, width: int = 1) -> None:
        self.low = low
        self.width = width

    def get(self, word: int) -> int:
        """Return the field's value in ``word``, shifted down to bit 0."""
        return word >> self.low & ((1 << self.width) - 1)


class MaskedWrite:
    """New values for some bits of one register; the hardware keeps all others.

    Attributes:
        offset: Of the register, in bytes from the start of Configuration Space.
        width: Of the register, in bytes: 1, 2 or 4. The access has exactly this width.
        value: The bits' new values, in place.
        mask: The bits that are written; ``value`` has no others.
    """

    __slots__ = ("mask", "offset", "value", "width")

    offset: int
    width: int
    value: int
    mask: int

    def __init__(self, *, offset: int, width: int, value: int, mask: int) -> None:
        """Refuse a write that no register can hold: always a bug here, never the user's doing.

        Raises:
            ValueError: ``value`` has bits outside ``mask``, or the access is unaligned or too wide.
        """
        if value & ~mask:
            raise ValueError(f"value {value:#x} has bits outside mask {mask:#x}")
        if width not in (1, 2, 4) or offset % width or mask >> (8 * width):
            raise ValueError(f"{width}-byte write at {offset:#x}: unaligned or too wide")
        self.offset = offset
        self.width = width
        self.value = value
        self.mask = mask

    def merge(self, word: int) -> int:
        """Return ``word`` with the masked bits replaced."""
        return (word & ~self.mask) | self.value

    def holds_in(self, word: int) -> bool:
        """Return whether ``word`` already has the masked bits as wanted."""
        return word & self.mask == self.value
