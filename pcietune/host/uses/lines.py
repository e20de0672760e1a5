"""Files of procfs that may be long: a read gives one page of them at most."""

from collections.abc import Iterator
from pathlib import Path

from pcietune.host.host_files import HostFiles


def lines(files: HostFiles, path: str) -> list[str] | None:
    """Return a file's lines; None if it cannot be read."""
    try:
        with Path(files.path(path)).open(errors="replace") as file:
            return list(_stripped(file))
    except OSError:
        return None


def _stripped(file: Iterator[str]) -> Iterator[str]:
    for line in file:
        yield line.rstrip("\n")
