"""Reads what measuring programs printed into a file."""

from pathlib import Path

from pcietune.errors import BadInputError, NotPermittedError

_LARGEST = 0x40_0000  # bytes; a run prints some KiB, NCCL's own notes a few hundred
_HINT = "give what ib_write_bw, nvbandwidth or all_reduce_perf printed"


def read_measured(path: Path) -> list[str]:
    """Return the lines of a file, or of a pipe such as ``/dev/stdin``, of at most 4 MiB.

    Raises:
        BadInputError: There is no such file, or it cannot be read, is larger, or no text.
        NotPermittedError: The kernel keeps it from this user.
    """
    try:
        with path.open("rb") as opened:
            data = opened.read(_LARGEST + 1)
    except PermissionError as error:
        raise NotPermittedError(
            f"{path}: not readable by this user", hint="run pcietune as root"
        ) from error
    except OSError as error:
        raise BadInputError(f"{path}: {error.strerror}", hint=_HINT) from error
    if len(data) > _LARGEST:
        raise BadInputError(f"{path}: larger than 4 MiB", hint=_HINT)
    try:
        return data.decode().splitlines()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BadInputError(f"{path}:{line}: no text in UTF-8", hint=_HINT) from error
