"""The files of one host, below the directory that stands for its ``/``."""

import errno
import os
import stat
from pathlib import Path

from pcietune.errors import BadInputError, NotPermittedError

_LARGEST = 0x10000  # bytes; a sysfs attribute has at most a page
_ABSENT = (errno.ENOENT, errno.ENOTDIR, errno.ENODEV, errno.ELOOP, errno.ENAMETOOLONG)


class HostFiles:
    """Reads a host's small files; paths are relative to its root, such as ``proc/cmdline``.

    In a recording no path may lead out of the root, and only plain files are opened: somebody
    else made it. A live host's kernel is trusted.

    Attributes:
        root: The directory that stands for the host's ``/``.
        recorded: Whether it holds a recording, not the machine that pcietune runs on.
        complete: Whether what is absent here is absent on the host; else it is not known.
    """

    def __init__(self, root: Path, *, recorded: bool, complete: bool = True) -> None:
        self.root = root
        self.recorded = recorded
        self.complete = complete
        self._root = os.path.realpath(root)
        self._inside: set[str] = set()  # directories of a recording that were looked at

    def path(self, relative: str) -> str:
        """Return the full path of a file or directory, which need not exist.

        Raises:
            BadInputError: In a recording, it leads out of the root or to something else.
        """
        full = f"{self._root}/{relative}" if self._root != "/" else f"/{relative}"
        if self.recorded:
            self._check(full, relative)
        return full

    def read(self, relative: str) -> bytes:
        """Return what a file of at most 64 KiB holds.

        Raises:
            OSError: It cannot be read, is larger, or is a pipe.
            BadInputError: As ``path``.
        """
        careful = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK  # a pipe would wait for another end
        descriptor = os.open(self.path(relative), careful)
        try:
            data = os.read(descriptor, _LARGEST + 1)
            if not data and stat.S_ISFIFO(os.fstat(descriptor).st_mode):
                raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), relative)
        finally:
            os.close(descriptor)
        if len(data) > _LARGEST:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), relative)
        return data

    def text(self, relative: str) -> str | None:
        """Return a file's text without white space around it; None if it cannot be read.

        Raises:
            BadInputError: As ``path``.
        """
        try:
            return self.read(relative).decode(errors="replace").strip()
        except OSError:
            return None

    def number(self, relative: str) -> int | None:
        """Return the decimal number in a file; None if it cannot be read or is no number."""
        text = self.text(relative)
        try:
            return None if text is None else int(text)
        except ValueError:
            return None

    def link(self, relative: str) -> str | None:
        """Return where a link points, as it is written; None if it is no link."""
        try:
            return os.readlink(self.path(os.path.dirname(relative)) + f"/{_name(relative)}")
        except OSError:
            return None

    def link_name(self, relative: str) -> str | None:
        """Return the last name of where a link points; None if it is no link."""
        target = self.link(relative)
        return None if target is None else _name(target)

    def names(self, relative: str) -> list[str]:
        """Return what a directory holds, sorted; empty if it is absent.

        Raises:
            NotPermittedError: It may not be read, so what it holds is not known.
            BadInputError: As ``path``.
        """
        try:
            return sorted(os.listdir(self.path(relative)))
        except OSError as error:
            _check_absent(relative, error)
            return []

    def exists(self, relative: str) -> bool:
        """Return whether there is such a file, directory or link; errors as ``names``."""
        try:
            os.lstat(self.path(relative))
        except OSError as error:
            _check_absent(relative, error)
            return False
        return True

    def is_directory(self, relative: str) -> bool:
        """Return whether there is such a directory; errors as ``names``."""
        try:
            return stat.S_ISDIR(os.stat(self.path(relative)).st_mode)
        except OSError as error:
            _check_absent(relative, error)
            return False

    def _check(self, full: str, relative: str) -> None:
        """Refuse a path of a recording that is not inside or no file; look once per directory."""
        directory = full.rpartition("/")[0]
        if directory not in self._inside:
            self._check_inside(directory, relative)
            self._inside.add(directory)
        try:
            mode = os.lstat(full).st_mode
            if stat.S_ISLNK(mode):
                self._check_inside(full, relative)
                mode = os.stat(full).st_mode
        except OSError:
            return
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise BadInputError(
                f"{relative} of the recorded host is neither a file nor a directory",
                hint="make the recording again with pcietune record",
            )

    def _check_inside(self, full: str, relative: str) -> None:
        real = os.path.realpath(full)
        if real != self._root and not real.startswith(f"{self._root}/"):
            raise BadInputError(
                f"{relative} leads out of the recorded host, to {real}",
                hint="a recording holds only relative links that stay inside; make it again with"
                " pcietune record",
            )


def _check_absent(relative: str, error: OSError) -> None:
    """Do nothing if nothing is there; what is kept from this user may well be there.

    Raises:
        NotPermittedError: That is not known.
    """
    if error.errno not in _ABSENT:
        raise NotPermittedError(
            f"/{relative} may not be read: {error.strerror}", hint="run pcietune as root"
        ) from error


def _name(path: str) -> str:
    return path.rpartition("/")[2]
