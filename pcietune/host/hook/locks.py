"""The locks of a hook: it gives way to apply, and takes turns with other hooks."""

import fcntl
import os
import time

from pcietune.errors import LockedError, NotPermittedError, PcietuneError

_LOCK = "lock"  # apply holds it alone, hooks share it
_HOOKS = "hook.lock"
_LONGEST_TURN_S = 60.0  # a storm of events on a busy host; udev gives an event 180 s
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.002, 0.05
_CAREFUL = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def take_turn(directory: str) -> list[int]:
    """Return descriptors that hold both locks until they are closed, or the process ends.

    Args:
        directory: ``/run/pcietune``.

    Raises:
        LockedError: Apply or restore is at work, which is not waited for.
        NotPermittedError: There can be no lock, or another hook does not end.
    """
    opened: list[int] = []
    try:
        opened.append(os.open(f"{directory}/{_LOCK}", _CAREFUL, 0o600))
        _share(opened[0])
        opened.append(os.open(f"{directory}/{_HOOKS}", _CAREFUL, 0o600))
        _wait_for_turn(opened[1])
    except PcietuneError:
        release(opened)
        raise
    except OSError as error:
        release(opened)
        raise NotPermittedError(f"no lock in {directory}: {error.strerror}") from error
    return opened


def release(held: list[int]) -> None:
    """Let others have the locks."""
    while held:
        os.close(held.pop())


def _share(descriptor: int) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        raise LockedError("another pcietune is at work, and judges this itself") from None


def _wait_for_turn(descriptor: int) -> None:
    deadline, pause = time.monotonic() + _LONGEST_TURN_S, _FIRST_PAUSE_S
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise NotPermittedError("not judged: another hook does not end") from None
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_S)
        else:
            return
