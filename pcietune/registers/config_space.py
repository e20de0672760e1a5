"""One function's Configuration Space, read register by register."""

from pcietune.address import PciAddress
from pcietune.errors import ConfigSpaceError

CONVENTIONAL_SIZE = 0x100  # bytes; what every PCI function has
EXTENDED_SIZE = 0x1000  # bytes; what a PCI Express function has where ECAM reaches it


class ConfigSpace:
    """One function's Configuration Space: bounds-checked, each register fetched at most once.

    Subclasses say where the bytes come from.

    Attributes:
        address: The function's.
        size: Bytes that there are: 256 or 4096.
    """

    __slots__ = ("_seen", "address", "size")

    address: PciAddress
    size: int
    _seen: dict[tuple[int, int], int]

    def __init__(self, address: PciAddress, size: int) -> None:
        self.address = address
        self.size = size
        self._seen = {}

    def read(self, offset: int, width: int) -> int:
        """Return the register of ``width`` bytes (1, 2 or 4) at byte ``offset``; remembered.

        Raises:
            ConfigSpaceError: The register lies outside Configuration Space or cannot be read.
            NotPermittedError: The kernel keeps it from this user.
        """
        known = self._seen.get((offset, width))
        return self.read_again(offset, width) if known is None else known

    def read_again(self, offset: int, width: int) -> int:
        """Return what the register reads now, and remember that alone; same errors as ``read``."""
        self._seen.pop((offset, width), None)
        if offset % width or not 0 <= offset <= self.size - width:
            raise ConfigSpaceError(
                f"{self.address}: no {width}-byte register at {offset:#05x} in "
                f"{self.size} bytes of Configuration Space"
            )
        value = int.from_bytes(self._fetch(offset, width), "little")
        self._seen[offset, width] = value
        return value

    def read_word(self, offset: int) -> int:
        """Return the 16-bit capability or control register at ``offset``; remembered.

        Raises:
            ConfigSpaceError: It reads as all ones, which no such register does while its function
                answers; or as ``read``.
            NotPermittedError: As ``read``.
        """
        word = self.read(offset, 2)
        if word == 0xFFFF:
            raise does_not_answer(self.address)
        return word

    def read_word_again(self, offset: int) -> int:
        """Return what the 16-bit register reads now; same errors as ``read_word``."""
        self.read_again(offset, 2)
        return self.read_word(offset)

    def untold(self, offset: int) -> int:  # noqa: ARG002 -- for those who know of some
        """Return the bits of the register at ``offset`` that read as 0 and are not known.

        There are none but of a text that names the others.
        """
        return 0

    def check_told(self, offset: int, mask: int) -> None:
        """Do nothing if the bits ``mask`` of the register at ``offset`` are known.

        Raises:
            ConfigSpaceError: One is not.
        """
        if self.untold(offset) & mask:
            raise ConfigSpaceError(
                f"{self.address}: bits {mask:#06x} of the register at {offset:#05x} are not told",
                hint="dump it as root: lspci -D -xxxx",
            )

    def _fetch(self, offset: int, width: int) -> bytes:
        """Return exactly ``width`` bytes at ``offset``, or raise as ``read`` says."""
        raise NotImplementedError  # abstract, without abc: the udev hook imports this module


def does_not_answer(address: PciAddress) -> ConfigSpaceError:
    """Return the error for a function that reads as all ones."""
    return ConfigSpaceError(
        f"{address} does not answer: it reads as all ones",
        hint="is it powered down, behind a dead link, or being reset?",
    )


class ConfigBytes(ConfigSpace):
    """Configuration Space that is already in memory."""

    __slots__ = ("_data",)

    _data: bytes

    def __init__(self, address: PciAddress, data: bytes) -> None:
        super().__init__(address, len(data))
        self._data = data

    def _fetch(self, offset: int, width: int) -> bytes:
        return self._data[offset : offset + width]
