"""Whether a file may be obeyed when something is to be written: only root may have made it."""

import os
import stat
from pathlib import Path

from pcietune.errors import BadInputError
from pcietune.host.profiles.source import LoadedProfile, Origin

_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH
_ROOT = 0  # user id


def check_trusted(path: Path, *, owner: int = _ROOT) -> None:
    """Return if only ``owner`` can have written the file or directory, and its directory too.

    What is absent can be trusted: nothing of it is obeyed. Not for recordings, which write
    nothing but themselves.

    Raises:
        BadInputError: Somebody else owns one of the two or may write it.
    """
    real = Path(os.path.realpath(path))
    for checked in (real, real.parent):
        try:
            status = checked.stat()
        except OSError:
            continue
        _check(checked, status, owner)


def check_tree_trusted(directory: Path, *, owner: int = _ROOT) -> None:
    """Return if ``check_trusted`` does for a directory and all that is below it.

    Raises:
        BadInputError: As ``check_trusted``.
    """
    check_trusted(directory, owner=owner)
    for path in sorted(directory.rglob("*")):
        check_trusted(path, owner=owner)


def check_profile_trusted(loaded: LoadedProfile, *, owner: int = _ROOT) -> None:
    """Return if ``check_trusted`` does for a profile's file and all that it extends.

    What ships with pcietune is trusted as pcietune is.

    Raises:
        BadInputError: As ``check_trusted``.
    """
    for source in (loaded.source, *loaded.parents):
        if source.origin is not Origin.SHIPPED:
            check_trusted(source.path, owner=owner)


def _check(path: Path, status: os.stat_result, owner: int) -> None:
    if status.st_uid != owner:
        raise BadInputError(
            f"{path} belongs to user {status.st_uid}, who could have pcietune write what they like",
            hint=f"chown {'root' if owner == _ROOT else owner} {path}",
        )
    if status.st_mode & _OTHERS_MAY_WRITE and not _is_sticky_directory(status):
        raise BadInputError(
            f"{path} may be written by others, who could have pcietune write what they like",
            hint=f"chmod go-w {path}",
        )


def _is_sticky_directory(status: os.stat_result) -> bool:
    """Whether others may add to a directory, as to /tmp, but not replace what is in it."""
    return stat.S_ISDIR(status.st_mode) and bool(status.st_mode & stat.S_ISVTX)
