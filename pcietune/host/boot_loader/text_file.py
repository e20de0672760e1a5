"""Text files of a boot loader: read, and changed whole or not at all."""

import errno
import os
import stat
from pathlib import Path
from tempfile import NamedTemporaryFile

from pcietune.errors import BadInputError, NotPermittedError
from pcietune.host.host_files import HostFiles
from pcietune.host.trust import check_trusted
from pcietune.model.boot_loader import FileChange

BACKUP = ".before-pcietune"
"""What is put behind the name of the file that holds what was there before the last change."""

_NEW_MODE = 0o644


def read_text(files: HostFiles, path: str) -> str | None:
    """Return a file's text; None if there is none.

    Raises:
        NotPermittedError: It may not be read.
        BadInputError: It is no text.
    """
    try:
        return files.read(path).decode()
    except FileNotFoundError:
        return None
    except NotADirectoryError:
        return None
    except UnicodeDecodeError as error:
        raise BadInputError(f"/{path} is no text: {error.reason}") from error
    except OSError as error:
        raise NotPermittedError(
            f"/{path} cannot be read: {error.strerror}", hint="run pcietune as root"
        ) from error


def make_change(files: HostFiles, change: FileChange, *, backup: bool = True) -> None:
    """Make a change; a kill leaves what was there or what is to be there, never half of it.

    Args:
        files: The host's files.
        change: The file, and its text before and after.
        backup: Whether to keep what was there beside it, before it is changed.

    Raises:
        NotPermittedError: The file system does not take it.
        BadInputError: Something else stands there, or somebody else than root may write it.
    """
    path = Path(files.path(change.path))
    try:
        mode = _check(files, path)
        path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        _remove_leftovers(path)
        if backup and change.before is not None:
            _replace(path.with_name(path.name + BACKUP), change.before, mode or _NEW_MODE)
        if change.after is None:
            path.unlink(missing_ok=True)
            _sync(path.parent)
        else:
            _replace(path, change.after, mode or _NEW_MODE)
    except OSError as error:
        raise NotPermittedError(
            f"cannot write /{change.path}: {error.strerror}", hint=_hint(error, change.path)
        ) from error


def _check(files: HostFiles, path: Path) -> int | None:
    """Return the file's mode; None if there is none.

    Raises:
        BadInputError: It is no plain file, or somebody else may write it or its directory.
    """
    if not files.recorded:
        check_trusted(path, owner=os.geteuid())
    try:
        status = path.lstat()
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(status.st_mode):
        raise BadInputError(f"{path} is no plain file, so it is not replaced", hint=f"ls -l {path}")
    return stat.S_IMODE(status.st_mode)


def _replace(path: Path, text: str, mode: int) -> None:
    with NamedTemporaryFile(dir=path.parent, prefix=_prefix(path), delete=False) as file:
        try:
            file.write(text.encode())
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
            Path(file.name).replace(path)
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise
    _sync(path.parent)


def _remove_leftovers(path: Path) -> None:
    """Remove what a run that was killed left: it never took the file's place."""
    for name in (path.name, path.name + BACKUP):
        for left in path.parent.glob(f"{_prefix(path.with_name(name))}*"):
            left.unlink()


def _prefix(path: Path) -> str:
    return f".{path.name}.pcietune-"


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _hint(error: OSError, path: str) -> str:
    if error.errno == errno.EROFS:
        return "is it mounted read-only?"
    if error.errno in (errno.EEXIST, errno.ENOTDIR):
        return f"is /{Path(path).parent} a directory, or a link that leads nowhere?"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "free some space: df -h"
    return "run pcietune as root"
