"""The hook's lines of the undo record, as apply writes them: restore puts back either's changes.

pcietune.host.run.undo_lines has the format, with what a hook has no time to import.
"""

import os

from pcietune import __version__
from pcietune.errors import NotPermittedError
from pcietune.host.run.json_line import json_line
from pcietune.host.run.trusted_file import read_trusted
from pcietune.registers.fields import MaskedWrite

_RECORD = "undo.jsonl"
_FORMAT = "pcietune undo record"
_VERSION = 1
_ENOSPC = 28  # errno is not imported on the hook's path
_CAREFUL = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class HookUndo:
    """The record of this boot, open for more; to be used under the hooks' lock."""

    __slots__ = ("_descriptor", "_told")

    _descriptor: int
    _told: bool

    def __init__(self, directory: str, boot_id: str) -> None:
        """Open the record in a directory, or begin it; that of another boot is thrown away.

        Raises:
            NotPermittedError: It cannot be kept, or makes no sense: then nothing may be written.
        """
        try:
            self._descriptor = _open(directory, boot_id)
        except (OSError, ValueError, RecursionError) as error:
            raise NotPermittedError(f"no undo record can be kept: {error}") from error
        self._told = False

    def begin(
        self,
        function: tuple[str, str, str],
        group: str,
        write: MaskedWrite,
        word: int,
    ) -> None:
        """Record a write that is about to be made.

        Args:
            function: Location, address and id of the function whose register it is.
            group: Location of its switch group's topmost upstream port.
            write: What is to be written.
            word: What the register reads now.

        Raises:
            NotPermittedError: The record cannot be kept.
        """
        location, address, its_id = function
        change = {
            "group": group,
            "location": location,
            "address": address,
            "id": its_id,
            "offset": write.offset,
            "mask": write.mask,
            "old": word & write.mask,
            "new": write.value,
        }
        if not self._told:
            self._append({"type": "run", "pcietune": __version__})
            self._told = True
        self._append({"type": "begun", "change": change})

    def settle(self, group: str, *, kept: bool) -> None:
        """Record how this hook's writes ended.

        Raises:
            NotPermittedError: The record cannot be kept.
        """
        outcome = "kept" if kept else "undone"
        self._append({"type": "settled", "group": group, "outcome": outcome})

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)

    def _append(self, line: dict[str, object]) -> None:
        """Add a line; what is cut off is taken back."""
        try:
            self._add(json_line(line))
        except OSError as error:
            raise NotPermittedError(f"no undo record can be kept: {error.strerror}") from error

    def _add(self, data: bytes) -> None:
        length = os.fstat(self._descriptor).st_size
        try:
            whole = os.write(self._descriptor, data) == len(data)
            os.fsync(self._descriptor)
        except OSError:
            os.ftruncate(self._descriptor, length)
            raise
        if not whole:
            os.ftruncate(self._descriptor, length)
            raise OSError(_ENOSPC, os.strerror(_ENOSPC))


def _open(directory: str, boot_id: str) -> int:
    path = f"{directory}/{_RECORD}"
    try:
        data = read_trusted(directory, _RECORD)
    except FileNotFoundError:
        data = b""
    whole = data[: data.rfind(b"\n") + 1]  # a kill may have cut off the last line
    if not whole or _boot_of(whole) != boot_id:
        _begin(path, boot_id)
        return os.open(path, os.O_WRONLY | os.O_APPEND | _CAREFUL)
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | _CAREFUL)
    os.ftruncate(descriptor, len(whole))
    return descriptor


def _boot_of(data: bytes) -> object:
    """Return the boot that a record says it is of; raises ValueError if it is no such record."""
    import json

    header: object = json.loads(data.partition(b"\n")[0])
    if not isinstance(header, dict) or header.get("type") != "header":
        raise ValueError("its first line is no header")
    if (header.get("format"), header.get("version")) != (_FORMAT, _VERSION):
        raise ValueError("its format is not known")
    return header.get("boot_id")


def _begin(path: str, boot_id: str) -> None:
    """Write a header alone; a kill leaves the record before or this one."""
    header: dict[str, object] = {
        "type": "header",
        "boot_id": boot_id,
        "pcietune": __version__,
        "format": _FORMAT,
        "version": _VERSION,
    }
    new = f"{path}.new"
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _CAREFUL, 0o600)
    try:
        os.write(descriptor, json_line(header))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    os.rename(new, path)
