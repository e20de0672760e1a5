"""Configuration Space in a recording: what was not read is an error, never 0."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pcietune.address import PciAddress
from pcietune.errors import ConfigSpaceError, NotPermittedError, PcietuneError
from pcietune.host.config_space import FileConfigSpace
from pcietune.registers.config_space import CONVENTIONAL_SIZE, EXTENDED_SIZE

UNPRIVILEGED_SIZES = (64, 128)
"""Bytes of Configuration Space that Linux shows to everybody; 128 of a CardBus bridge."""


@dataclass(frozen=True, slots=True)
class Unread:
    """What a recording lacks of one function's Configuration Space.

    Attributes:
        ranges: First offset, and the one behind the last, of each part; in bytes.
        reason: Why it was not read; None if only root may read it and someone else recorded.
        untold: By offset of a register: its bits that read as 0 and are not known.
    """

    ranges: tuple[tuple[int, int], ...]
    reason: str | None
    untold: Mapping[int, int] = field(default_factory=dict)


class RecordedConfigSpace(FileConfigSpace):
    """One recorded function's Configuration Space.

    A write changes the recording as if all masked bits of the register could be written, since
    no recording knows which the hardware would have kept.
    """

    __slots__ = ("_unread",)

    _unread: Unread

    def __init__(self, address: PciAddress, path: str, unread: Unread | None) -> None:
        """Look at the size of the file.

        Raises:
            ConfigSpaceError: There is none, because it could not be read when it was recorded.
            NotPermittedError: This user may not read the recording.
        """
        self._unread = unread or Unread((), None)
        if any(start == 0 for start, _ in self._unread.ranges):
            raise _not_recorded(address, 0, self._unread.reason)
        super().__init__(address, path)
        if any(end > CONVENTIONAL_SIZE for _, end in self._unread.ranges):
            self.size = EXTENDED_SIZE

    def untold(self, offset: int) -> int:
        """Return the bits of the register at ``offset`` that no text told."""
        return self._unread.untold.get(offset, 0)

    def _fetch(self, offset: int, width: int) -> bytes:
        for start, end in self._unread.ranges:
            if start < offset + width and offset < end:
                raise _not_recorded(self.address, offset, self._unread.reason)
        return super()._fetch(offset, width)

    def _ends_before(self, offset: int) -> PcietuneError:
        length = Path(self._path).stat().st_size
        reason = None if length in UNPRIVILEGED_SIZES else f"the file ends at {length:#05x}"
        return _not_recorded(self.address, offset, reason)


def _not_recorded(address: PciAddress, offset: int, reason: str | None) -> PcietuneError:
    if reason is None:
        return NotPermittedError(
            f"{address}: only the first 64 bytes were recorded",
            hint="record the host again as root",
        )
    return ConfigSpaceError(
        f"{address}: Configuration Space at {offset:#05x} was not recorded: {reason}",
        hint="record the host again, or dump it as root: lspci -D -xxxx",
    )
