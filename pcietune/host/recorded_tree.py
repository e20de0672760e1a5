"""A recording in the making: the host's files, copied one by one to the same places."""

import errno
import os
from pathlib import Path

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
        """Write a file of the recording."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)

    def make_directory(self, path: str) -> None:
        """Make a directory of the recording, unless it is there."""
        (self.root / path).mkdir(parents=True, exist_ok=True)

    def copy(self, path: str) -> None:
        """Copy a file; one that is absent stays absent, one that is unreadable is an error."""
        try:
            self.put(path, self.source.read(path))
        except OSError as error:
            if error.errno not in _ABSENT:
                self.errors[path] = os.strerror(error.errno or errno.EIO)

    def copy_all(self, path: str) -> None:
        """Copy a directory and all that is below it, following links; nothing if it is absent."""
        for name in self.source.names(path):
            below = f"{path}/{name}"
            if self.source.is_directory(below):
                self.copy_all(below)
            else:
                self.copy(below)

    def copy_link(self, path: str) -> str | None:
        """Copy a link but not what is behind it; return where that is, None if it is no link."""
        target = self.source.link(path)
        if target is None:
            return None
        link = self.root / path
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(target)
        return os.path.normpath(link.parent.relative_to(self.root) / target)
