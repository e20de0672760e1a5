"""A file with a result, written whole or not at all."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO

from pcietune.errors import BadInputError, NotPermittedError

_LARGEST_EARLIER = 0x100000
_HINT = "name a file in a directory that exists"
_NO_SUCH_PLACE = (
    errno.ENOENT,
    errno.ENOTDIR,
    errno.EISDIR,
    errno.EBUSY,  # "." or "/"
    errno.ENAMETOOLONG,
    errno.ELOOP,
)


def check_place(file: Path) -> None:
    """Do nothing if a file may be of that name, so that no work is done in vain.

    Raises:
        BadInputError: Something else is there, or there is no such directory.
        NotPermittedError: This user may not look there.
    """
    with _telling(file):
        if file.is_dir() or not file.parent.is_dir():
            raise BadInputError(
                f"{file} cannot be a file: it is a directory, or is in none", hint=_HINT
            )
        _check_kind(file)


def earlier_text(file: Path) -> str | None:
    """Return the text of an earlier result, at most 1 MiB of it; None if it cannot be read."""
    try:
        with file.open("rb") as opened:
            return opened.read(_LARGEST_EARLIER).decode(errors="replace")
    except OSError:
        return None


@contextmanager
def result_file(destination: Path) -> Iterator[IO[bytes]]:
    """Yield a file that takes the place of ``destination`` in the end, if all of it was written.

    Raises:
        BadInputError: No file can be of that name there, or something else is.
        NotPermittedError: The destination may not be written, or there is no room.
    """
    with _telling(destination):
        _check_kind(destination)
        with NamedTemporaryFile(
            dir=destination.parent, prefix=f".{destination.name}.", delete=False
        ) as file:
            try:
                yield file
                file.flush()
                os.fsync(file.fileno())
                Path(file.name).chmod(0o644)
                Path(file.name).replace(destination)
            except BaseException:
                Path(file.name).unlink()
                raise


def _check_kind(file: Path) -> None:
    """Refuse what is neither a file nor absent: root could replace a device such as /dev/null.

    Directories are left to the kernel, which refuses them.
    """
    if file.exists() and not file.is_file() and not file.is_dir():
        raise BadInputError(f"{file} is there and is no file, so it is not replaced", hint=_HINT)


@contextmanager
def _telling(destination: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        said = f"cannot write {destination}: {error.strerror}"
        if error.errno in _NO_SUCH_PLACE:
            raise BadInputError(said, hint=_HINT) from error
        raise NotPermittedError(said, hint="name a file in another place") from error
