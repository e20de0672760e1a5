"""Signals as a wish to stop, so that nothing is cut off between a write and its read-back."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_WISHES = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupts:
    """Whether somebody asked to stop."""

    def __init__(self) -> None:
        self._asked = False

    def asked(self) -> bool:
        """Return whether a signal came that asks to stop."""
        return self._asked

    def note(self, signal_number: int, frame: FrameType | None) -> None:  # noqa: ARG002 -- a signal handler's signature
        """Remember a signal."""
        self._asked = True


@contextmanager
def held_back() -> Iterator[Interrupts]:
    """Yield the wish to stop, while SIGINT, SIGTERM and SIGHUP only set it.

    A signal that was ignored before, as nohup has it, stays ignored.
    """
    interrupts = Interrupts()
    heard = [wish for wish in _WISHES if signal.getsignal(wish) is not signal.SIG_IGN]
    before = {wish: signal.signal(wish, interrupts.note) for wish in heard}
    try:
        yield interrupts
    finally:
        for wish, handler in before.items():
            signal.signal(wish, handler)


def all_alike_from_now_on() -> None:
    """Let SIGTERM and SIGHUP end the process as Ctrl-C does, which leaves nothing unpacked behind.

    A signal that is ignored, as nohup has it, stays ignored.
    """
    for wish in _WISHES:
        if signal.getsignal(wish) is signal.SIG_DFL:
            signal.signal(wish, signal.default_int_handler)


def ignored_from_now_on() -> None:
    """Let no signal change the exit code while Python ends: what was done is told already."""
    for wish in _WISHES:
        signal.signal(wish, signal.SIG_IGN)
