"""One pcietune at a time on a host."""

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from pcietune.errors import LockedError, NotPermittedError
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
            _wait(
                partial(_take, descriptor),
                partial(_holder, descriptor),
                "this host",
                wait_s=wait_s,
                on_wait=on_wait,
            )
        except OSError as error:
            raise cannot_keep("the lock", files, error) from error
        _sign(descriptor, f"pid {os.getpid()}, {command}")
        yield
        _sign(descriptor, "")
    finally:
        os.close(descriptor)


@contextmanager
def locked_archive(
    archive: Path, *, wait_s: float, on_wait: Callable[[str], None]
) -> Iterator[None]:
    """Hold a host archive that another file may take the place of in the end.

    The lock is on the file itself, as nothing else stands for it wherever it is. Whoever waited
    gets the file that took its place.

    Args:
        archive: Read only after it is locked, or what others wrote meanwhile is lost.
        wait_s: As for ``locked``.
        on_wait: As for ``locked``.

    Raises:
        LockedError: The other holder did not let go in time.
        NotPermittedError: It may not be written, or there can be no lock.
    """
    opened: list[int] = []
    try:
        try:
            _wait(
                partial(_take_archive, archive, opened),
                lambda: "another pcietune",
                str(archive),
                wait_s=wait_s,
                on_wait=on_wait,
            )
        except OSError as error:
            raise NotPermittedError(
                f"cannot lock {archive}: {error.strerror}", hint="use --to FILE instead"
            ) from error
        yield
    finally:
        for descriptor in opened:
            os.close(descriptor)


def _wait(
    take: Callable[[], bool],
    holder: Callable[[], str],
    place: str,
    *,
    wait_s: float,
    on_wait: Callable[[str], None],
) -> None:
    deadline = time.monotonic() + wait_s
    told = False
    while not take():
        name = holder()
        if time.monotonic() >= deadline:
            raise LockedError(
                f"{name} is at work on {place}", hint="run pcietune again when it has ended"
            )
        if not told:
            on_wait(name)
            told = True
        time.sleep(_POLL_S)


def _take(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _take_archive(archive: Path, opened: list[int]) -> bool:
    """Return whether the archive is held now, by the descriptor in ``opened``.

    It is not while another has it, nor where another file took its place meanwhile.
    """
    if not opened:
        opened.append(os.open(archive, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC))  # RDWR for NFS
    if not _take(opened[0]):
        return False
    if os.path.samestat(os.fstat(opened[0]), archive.stat()):
        return True
    os.close(opened.pop())
    return False


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
