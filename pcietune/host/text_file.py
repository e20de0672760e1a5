"""Reads a text that somebody gives: a file, a pipe, or standard input."""

from pathlib import Path
from typing import BinaryIO

from pcietune.errors import BadInputError, NotPermittedError

_STDIN = 0  # file descriptor
_DASH = "-"
_MEBIBYTE = 0x10_0000


def read_text(path: Path, *, hint: str, largest_mib: int = 4) -> str:
    """Return the text of a file, of a pipe such as ``/dev/stdin``, or for ``-`` standard input.

    Args:
        path: Of the file.
        hint: What to give instead of one that is not there, too large, or no text.
        largest_mib: The most that is read, in MiB.

    Raises:
        BadInputError: There is no such file, or it cannot be read, is larger, or no text; or
            standard input is empty, as it is where another file was read from there.
        NotPermittedError: The kernel keeps it from this user.
    """
    try:
        with _open(path) as opened:
            data = opened.read(largest_mib * _MEBIBYTE + 1)
    except PermissionError as error:
        raise NotPermittedError(
            f"{path}: not readable by this user", hint="run pcietune as root"
        ) from error
    except OSError as error:
        raise BadInputError(f"{path}: {error.strerror}", hint=hint) from error
    if not data and str(path) == _DASH:
        raise BadInputError("standard input: nothing in it, or read already", hint=hint)
    if len(data) > largest_mib * _MEBIBYTE:
        raise BadInputError(f"{path}: larger than {largest_mib} MiB", hint=hint)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BadInputError(f"{path}:{line}: no text in UTF-8", hint=hint) from error


def _open(path: Path) -> BinaryIO:
    if str(path) == _DASH:
        return open(_STDIN, "rb", closefd=False)
    return path.open("rb")
