"""Read what only root can have written, on the udev hook's path."""

import os

_LARGEST = 0x1000000  # bytes; a function of a policy takes some 1,000
_REGULAR, _KIND = 0o100000, 0o170000  # S_IFREG and S_IFMT of sys/stat.h
_OTHERS_MAY_WRITE = 0o022


def read_trusted(directory: str, name: str) -> bytes:
    """Return what a file holds that only root can have written; in tests, this user.

    Raises:
        OSError: It cannot be read.
        ValueError: It is no plain file, too large, or somebody else owns or may write it or its
            directory.
    """
    _check(directory, os.lstat(directory))
    path = f"{directory}/{name}"
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(descriptor)
        _check(path, status)
        if status.st_mode & _KIND != _REGULAR or status.st_size > _LARGEST:
            raise ValueError(f"{path} is no plain file, or too large")
        return os.read(descriptor, _LARGEST)
    finally:
        os.close(descriptor)


def _check(path: str, status: os.stat_result) -> None:
    if status.st_uid not in (0, os.geteuid()) or status.st_mode & _OTHERS_MAY_WRITE:
        raise ValueError(f"{path} is not root's alone")
