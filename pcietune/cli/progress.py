"""A line on a terminal's stderr that says what is being read, where that takes long."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from rich.console import Console
from rich.control import Control
from rich.segment import ControlType
from rich.text import Text

from pcietune.address import PciAddress
from pcietune.host.sysfs import SysfsHost

_PATIENCE_S = 1.0
_BETWEEN_S = 0.1  # so that a terminal at the end of a slow line keeps up
_ERASE = Control((ControlType.ERASE_IN_LINE, 2))  # 2: all of the line


class Progress:
    """The line; none in the first second, nor on what is no terminal that can take it away."""

    def __init__(self, console: Console, clock: Callable[[], float]) -> None:
        self._console = console
        self._can_erase = console.is_terminal and not console.is_dumb_terminal
        self._clock = clock
        self._next = clock() + _PATIENCE_S
        self._count = 0
        self._shown = False

    def reading(self, address: PciAddress) -> None:
        """Tell that one more function is read; a clock is looked at, and no thread runs."""
        self._count += 1
        now = self._clock()
        if now < self._next or not self._can_erase:
            return
        self._next = now + _BETWEEN_S
        self._shown = True
        line = f"reading {address}, {self._count} functions so far"
        with suppress(OSError):
            self._console.control(_ERASE)
            self._console.print(Text(line, style="dim"), end="\r", no_wrap=True, overflow="crop")

    def end(self) -> None:
        """Take the line away."""
        if self._shown:
            with suppress(OSError):
                self._console.control(_ERASE)


@contextmanager
def told(host: SysfsHost) -> Iterator[None]:
    """Tell of every function that is read meanwhile."""
    progress = Progress(Console(stderr=True), time.monotonic)
    with host.watched(progress.reading):
        try:
            yield
        finally:
            progress.end()
