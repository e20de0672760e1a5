"""Reads what measuring programs printed into a file."""

from pathlib import Path

from pcietune.host.text_file import read_text

_HINT = "give what ib_write_bw, nvbandwidth or all_reduce_perf printed"


def read_measured(path: Path) -> list[str]:
    """Return the lines of a file of at most 4 MiB: a run prints a few hundred KiB at most.

    Raises:
        BadInputError: There is no such file, or it cannot be read, is larger, or no text.
        NotPermittedError: The kernel keeps it from this user.
    """
    return read_text(path, hint=_HINT).splitlines()
