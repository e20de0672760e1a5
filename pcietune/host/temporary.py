"""Where a recording is, while it is made or looked at."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pcietune.errors import NotPermittedError

_PREFIX = "pcietune-"


@contextmanager
def temporary_directory() -> Iterator[Path]:
    """Yield a new directory that is removed in the end.

    Raises:
        NotPermittedError: There is no place for one.
    """
    try:
        directory = tempfile.TemporaryDirectory(prefix=_PREFIX)
    except OSError as error:
        raise NotPermittedError(
            f"cannot make a temporary directory: {error.strerror}",
            hint="name another place in the environment: TMPDIR=/var/tmp",
        ) from error
    with directory as name:
        yield Path(name)
