"""Configuration Space of which some registers are told, and the rest counts as unread."""

from pcietune.host.recordings.manifest import UnreadConfig
from pcietune.registers.config_space import EXTENDED_SIZE


class Told:
    """The bytes of one function, as far as a text tells them.

    Attributes:
        data: Configuration Space; 0 where nothing is told.
        reason: Why the rest was not read; None if only root may read it.
    """

    def __init__(self, reason: str | None) -> None:
        self.data = bytearray(EXTENDED_SIZE)
        self.reason = reason
        self._parts: list[tuple[int, int]] = []
        self._untold: list[tuple[int, int]] = []

    def put(self, offset: int, width: int, value: int, *, untold: int = 0) -> None:
        """Take a register's value; what has no room, as only damaged text tells it, is left out.

        Args:
            offset: In bytes.
            width: In bytes.
            value: Its bits as far as they are told.
            untold: A mask of those that are not, though they may matter.
        """
        if value >> 8 * width or offset + width > EXTENDED_SIZE:
            return
        self.data[offset : offset + width] = value.to_bytes(width, "little")
        self._parts.append((offset, offset + width))
        if untold:
            self._untold.append((offset, untold))

    def unread(self) -> UnreadConfig:
        """Return what is not told."""
        ranges = []
        behind = 0
        for start, end in sorted(self._parts):
            if start > behind:
                ranges.append((behind, start))
            behind = max(behind, end)
        ranges.append((behind, EXTENDED_SIZE))
        return UnreadConfig(tuple(ranges), self.reason, untold=tuple(self._untold))
