"""A recording in the making: the host's files, copied one by one to the same places."""

import errno
import os
from pathlib import Path

from pcietune.errors import BadInputError, NotPermittedError
from pcietune.host.host_files import HostFiles

_ABSENT = (errno.ENOENT, errno.ENOTDIR, errno.ENODEV)


class RecordedTree:
    """Copies files of a host below another root; all paths are relative to both roots.

    Attributes:
        source: The host's files.
        root: The directory that the recording grows in.
        errors: Why a file that exists could not be read, by path.
    """

    def __init__(self, source: HostFiles, root: Path) -> None:
        self.source = source
        self.root = root
        self.errors: dict[str, str] = {}

    def put(self, path: str, data: bytes) -> None:
        """Write a file of the recording.

        Raises:
            NotPermittedError: There is no room for it.
        """
        file = self.root / path
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
        except OSError as error:
            raise NotPermittedError(
                f"cannot write {file}: {error.strerror}",
                hint="name another place in the environment: TMPDIR=/var/tmp",
            ) from error

    def make_directory(self, path: str) -> None:
        """Make a directory of the recording, unless it is there."""
        (self.root / path).mkdir(parents=True, exist_ok=True)

    def copy(self, path: str) -> None:
        """Copy a file; one that is absent stays absent, one that is unreadable is an error."""
        try:
            data = self.source.read(path)
        except OSError as error:
            if error.errno not in _ABSENT:
                name = os.fsencode(path).decode(errors="backslashreplace")
                self.errors[name] = os.strerror(error.errno or errno.EIO)
            return
        self.put(path, data)

    def copy_all(self, path: str, above: frozenset[str] = frozenset()) -> None:
        """Copy a directory and all that is below it; nothing if it is absent or unreadable.

        Links are followed, but not back to a directory ``above``.
        """
        real = os.path.realpath(self.source.path(path))
        if real in above:
            return
        try:
            names = self.source.names(path)
        except NotPermittedError as error:
            self.errors[path] = str(error)
            return
        for name in names:
            below = f"{path}/{name}"
            if self.source.is_directory(below):
                self.copy_all(below, above | {real})
            else:
                self.copy(below)

    def copy_link(self, path: str) -> str | None:
        """Copy a link but not what is behind it; return where that is, None if it is no link.

        Raises:
            BadInputError: In a recording, it leads out of the root.
        """
        target = self.source.link(path)
        if target is None:
            return None
        link = self.root / path
        behind = os.path.normpath(link.parent.relative_to(self.root) / target)
        if behind.startswith(("/", "../")):
            raise BadInputError(f"{path} leads out of the recorded host, to {target}")
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(target)
        return behind
