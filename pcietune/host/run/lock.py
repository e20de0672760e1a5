"""One pcietune at a time on a host."""

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pcietune.errors import LockedError
from pcietune.host.host_files import HostFiles
from pcietune.host.run.run_files import cannot_keep, make_run_directory, open_run_file

_LOCK = "lock"
_POLL_S = 0.05
_LONGEST_HOLDER = 256  # bytes


@contextmanager
def locked(
    files: HostFiles, command: str, *, wait_s: float, on_wait: Callable[[str], None]
) -> Iterator[None]:
    """Hold the host's lock; it ends with the process, however that ends.

    Args:
        files: The host's files; a recording has a lock of its own.
        command: What the holder is called when somebody else has to wait: ``apply``.
        wait_s: How long to wait for another holder, in seconds.
        on_wait: Called once with the holder's name if there is one to wait for.

    Raises:
        LockedError: The other holder did not let go in time.
        NotPermittedError: The lock cannot be kept.
        BadInputError: Somebody else than root could have made the lock.
    """
    try:
        make_run_directory(files)
        descriptor = open_run_file(files, _LOCK, os.O_RDWR | os.O_CREAT)
    except OSError as error:
        raise cannot_keep("the lock", files, error) from error
    try:
        try:
            _wait(descriptor, time.monotonic() + wait_s, on_wait)
        except OSError as error:
            raise cannot_keep("the lock", files, error) from error
        _sign(descriptor, f"pid {os.getpid()}, {command}")
        yield
        _sign(descriptor, "")
    finally:
        os.close(descriptor)


def _wait(descriptor: int, deadline: float, on_wait: Callable[[str], None]) -> None:
    told = False
    while not _take(descriptor):
        holder = _holder(descriptor)
        if time.monotonic() >= deadline:
            raise LockedError(
                f"{holder} is at work on this host", hint="run pcietune again when it has ended"
            )
        if not told:
            on_wait(holder)
            told = True
        time.sleep(_POLL_S)


def _take(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _holder(descriptor: int) -> str:
    """Return who holds the lock, as they signed; they may be about to."""
    name = os.pread(descriptor, _LONGEST_HOLDER, 0).decode(errors="replace").strip()
    return f"another pcietune ({name})" if name else "another pcietune"


def _sign(descriptor: int, holder: str) -> None:
    """Write who holds the lock; a full /run keeps nobody from holding it."""
    try:
        os.ftruncate(descriptor, 0)
        os.lseek(descriptor, 0, os.SEEK_SET)
        os.write(descriptor, holder.encode())  # pwrite is kept for registers: strace tells
    except OSError:
        return
