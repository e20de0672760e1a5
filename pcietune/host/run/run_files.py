"""Files of pcietune's own on the host: lock and undo record in /run, ATS proofs in /var/lib."""

import errno
import os
import stat
from pathlib import Path

from pcietune.errors import BadInputError, NotPermittedError
from pcietune.host.host_files import HostFiles

RUN = "run/pcietune"  # what outlives a run but not a boot
STATE = "var/lib/pcietune"
_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH
_HINTS = {
    errno.ENOSPC: "free some space: df -h {mount}",
    errno.EDQUOT: "free some space: df -h {mount}",
    errno.ENOENT: "is {mount} mounted?",
    errno.EROFS: "is {mount} mounted read-only?",
    errno.EACCES: "run pcietune as root",
    errno.EPERM: "run pcietune as root",
    errno.ENOTDIR: "something else stands where the directory belongs: remove it",
    errno.EISDIR: "a directory stands where the file belongs: remove it",
    errno.EEXIST: "something else stands where the directory belongs: remove it",
    errno.ELOOP: "a link stands there, which pcietune did not make: remove it",
}


def run_path(files: HostFiles, name: str, directory: str = RUN) -> Path:
    """Return where the directory's file of this name is, or would be.

    Raises:
        BadInputError: In a recording, it leads out of the root.
    """
    return Path(files.path(f"{directory}/{name}"))


def make_run_directory(files: HostFiles, directory: str = RUN) -> None:
    """Make the directory, unless it is there.

    Raises:
        BadInputError: On a live host, somebody else owns it or may write it, or it is a link.
        OSError: It cannot be made; on a live host also because what it is in is missing.
    """
    path = Path(files.path(directory))
    path.mkdir(mode=0o755, parents=files.recorded, exist_ok=True)
    check_owner(files, path, path.lstat())


def open_run_file(files: HostFiles, name: str, flags: int, directory: str = RUN) -> int:
    """Open a file of the directory and return its descriptor; a new one has mode 0600.

    Args:
        files: The host's files.
        name: In the directory.
        flags: As ``os.open`` takes them; a link is never followed.
        directory: Which of the two.

    Raises:
        BadInputError: It is no plain file; or on a live host, somebody else owns it or may write
            it.
        OSError: It cannot be opened.
    """
    path = run_path(files, name, directory)
    careful = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # a pipe would wait for another end
    descriptor = os.open(path, flags | careful, 0o600)
    try:
        status = os.fstat(descriptor)
        _check_plain(path, status)
        check_owner(files, path, status)
    except BadInputError:
        os.close(descriptor)
        raise
    return descriptor


def sync_run_directory(files: HostFiles, directory: str = RUN) -> None:
    """Return once the directory's own entries have reached the disk.

    Raises:
        OSError: They cannot.
    """
    descriptor = os.open(files.path(directory), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_all(descriptor: int, data: bytes) -> None:
    """Write all of ``data`` and wait until it is on the disk.

    Raises:
        OSError: It cannot be written, or not all of it.
    """
    if os.write(descriptor, data) < len(data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    os.fsync(descriptor)


def replace_run_file(
    files: HostFiles, name: str, data: bytes, directory: str = RUN, *, mode: int = 0o644
) -> None:
    """Write a file of the directory anew; a kill leaves the one before or this one.

    Raises:
        BadInputError: As ``open_run_file``.
        OSError: It cannot be written.
    """
    new = f".{name}.new"
    descriptor = open_run_file(files, new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, directory)
    try:
        os.fchmod(descriptor, mode)
        write_all(descriptor, data)
    finally:
        os.close(descriptor)
    run_path(files, new, directory).replace(run_path(files, name, directory))
    sync_run_directory(files, directory)


def check_owner(files: HostFiles, path: Path, status: os.stat_result) -> None:
    """Refuse what somebody else could have made; who made a recording does not matter.

    Args:
        files: The host's files.
        path: What ``status`` is of.
        status: As ``os.lstat`` and ``os.fstat`` give it.

    Raises:
        BadInputError: On a live host, somebody else owns it or may write it, or it is a link.
    """
    if files.recorded:
        return
    if status.st_uid not in (0, os.geteuid()):
        raise BadInputError(
            f"{path} belongs to user {status.st_uid}, not to root", hint=f"remove it: rm -r {path}"
        )
    if stat.S_ISLNK(status.st_mode):
        raise BadInputError(f"{path} is a link", hint=f"remove it: rm {path}")
    if status.st_mode & _OTHERS_MAY_WRITE:
        raise BadInputError(f"{path} may be written by others than root", hint=f"chmod go-w {path}")


def cannot_keep(
    what: str, files: HostFiles, error: OSError, directory: str = RUN
) -> NotPermittedError:
    """Return the error for a file that the kernel does not let pcietune keep."""
    return _refused("keep", what, files, error, directory)


def cannot_read(what: str, files: HostFiles, error: OSError) -> NotPermittedError:
    """Return the error for a file in /run that the kernel does not let pcietune read."""
    return _refused("read", what, files, error, RUN)


def _refused(
    verb: str, what: str, files: HostFiles, error: OSError, directory: str
) -> NotPermittedError:
    mount = f"/{directory.rpartition('/')[0]}"
    return NotPermittedError(
        f"cannot {verb} {what} in {files.path(directory)}: {error.strerror}",
        hint=_HINTS.get(error.errno or 0, "").format(mount=mount),
    )


def _check_plain(path: Path, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise BadInputError(f"{path} is no plain file", hint=f"remove it: rm -r {path}")
