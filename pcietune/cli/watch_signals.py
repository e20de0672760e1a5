"""Signals for a process that waits: each ends the wait, and none ends the work."""

import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from pcietune.errors import ExitCode

_ENDS = {signal.SIGTERM: ExitCode.OK, signal.SIGINT: ExitCode.INTERRUPTED}
_READ_AT_ONCE = 64


class Wishes:
    """What signals asked for.

    Attributes:
        wake: A descriptor that is readable from a signal on until it is heard.
        end: The exit code to end with; None while nobody wants that.
    """

    def __init__(self, heard: socket.socket) -> None:
        self._heard = heard
        self._look = False
        self.wake = heard.fileno()
        self.end: ExitCode | None = None

    def note(self, signal_number: int, frame: FrameType | None) -> None:  # noqa: ARG002 -- a signal handler's signature
        """Remember a signal."""
        code = _ENDS.get(signal.Signals(signal_number))
        if code is None:
            self._look = True
        elif self.end is None:
            self.end = code

    def look(self) -> bool:
        """Return whether a look was asked for since the last call."""
        with suppress(BlockingIOError):
            self._heard.recv(_READ_AT_ONCE)
        asked, self._look = self._look, False
        return asked


@contextmanager
def wishes() -> Iterator[Wishes]:
    """Yield what SIGTERM, SIGINT and SIGHUP ask for meanwhile; must be the main thread."""
    heard, told = socket.socketpair()
    heard.settimeout(0)
    told.settimeout(0)
    asked = Wishes(heard)
    before = {wish: signal.signal(wish, asked.note) for wish in (*_ENDS, signal.SIGHUP)}
    earlier = signal.set_wakeup_fd(told.fileno(), warn_on_full_buffer=False)
    try:
        yield asked
    finally:
        signal.set_wakeup_fd(earlier)
        for wish, handler in before.items():
            signal.signal(wish, handler)
        heard.close()
        told.close()
