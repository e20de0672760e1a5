"""Where a recording is, while it is made or looked at."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pcietune.errors import NotPermittedError

_PREFIX = "pcietune-"
_IN_MEMORY = "/dev/shm"  # noqa: S108 -- only directories that tempfile makes are below it
_ROOM = 0x80000000  # bytes; twice as many as an archive may hold


@contextmanager
def temporary_directory() -> Iterator[Path]:
    """Yield a new directory that is removed in the end.

    It is in memory where there is ample room, unless TMPDIR says otherwise: a recording of a large
    host is a hundred thousand small files, which a disk takes minutes to make and to remove.

    Raises:
        NotPermittedError: There is no place for one.
    """
    try:
        directory = tempfile.TemporaryDirectory(prefix=_PREFIX, dir=_in_memory())
    except OSError as error:
        raise NotPermittedError(
            f"cannot make a temporary directory: {error.strerror}",
            hint="name another place in the environment: TMPDIR=/var/tmp",
        ) from error
    with directory as name:
        yield Path(name)


def _in_memory() -> str | None:
    """Return a directory in memory; None for tempfile's own choice."""
    if "TMPDIR" in os.environ or not os.access(_IN_MEMORY, os.W_OK):
        return None
    return _IN_MEMORY if shutil.disk_usage(_IN_MEMORY).free > _ROOM else None
