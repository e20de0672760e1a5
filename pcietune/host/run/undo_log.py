"""The undo record on disk: every change stands there before it is made."""

import errno
import os
from dataclasses import replace
from typing import Self

from pcietune import __version__
from pcietune.host.host_files import HostFiles
from pcietune.host.run.run_files import (
    cannot_keep,
    cannot_read,
    make_run_directory,
    open_run_file,
    run_path,
    sync_run_directory,
    write_all,
)
from pcietune.host.run.undo_lines import (
    Found,
    Header,
    Line,
    Run,
    Settled,
    begun,
    decode_record,
    encode_lines,
    whole_lines,
)
from pcietune.model.undo import Change, Outcome, RegisterChange, UndoRecord

_RECORD = "undo.jsonl"
_NEW_RECORD = "undo.jsonl.new"
_WHAT = "the undo record"
_APPEND = os.O_WRONLY | os.O_APPEND


def read_undo_record(files: HostFiles) -> UndoRecord | None:
    """Return what is recorded on this host, maybe by another boot; None if nothing is.

    Raises:
        BadInputError: The record is broken, or somebody else than root could have made it.
        NotPermittedError: This user may not read it.
    """
    try:
        data = _read(files)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise cannot_read(_WHAT, files, error) from error
    return decode_record(data, run_path(files, _RECORD))


class UndoLog:
    """The undo record, open for more; an UndoStore.

    What a method records has reached the disk when it returns.
    """

    def __init__(self, files: HostFiles, record: UndoRecord, descriptor: int) -> None:
        """Take over an open record; ``open`` is the way to get one."""
        self._files = files
        self._descriptor = descriptor
        self._run_told = False
        self._known = _registers(*(c.entry for c in record.changes), *record.found)

    @classmethod
    def open(cls, files: HostFiles, boot_id: str) -> Self:
        """Open the record of this boot, or begin it; that of another boot is thrown away.

        To be called under the host's lock and before the first write, since it also finds out
        whether a record can be kept.

        Raises:
            BadInputError: The record is broken, or somebody else than root could have made it.
            NotPermittedError: It cannot be kept: ``/run`` is full, missing or read-only.
        """
        try:
            make_run_directory(files)
            record = read_undo_record(files)
            if record is None or record.boot_id != boot_id:
                record = UndoRecord(boot_id)
                _replace(files, record)
            descriptor = open_run_file(files, _RECORD, _APPEND)
            os.ftruncate(descriptor, len(whole_lines(_read(files))))
        except OSError as error:
            raise cannot_keep(_WHAT, files, error) from error
        return cls(files, record, descriptor)

    def begin(self, entry: Change) -> None:
        """Record a change that is about to be made.

        Raises:
            NotPermittedError: The record cannot be kept.
        """
        lines = [begun(entry)] if self._run_told else [Run(__version__), begun(entry)]
        self._append(*lines)
        self._run_told = True
        self._known += _registers(entry)

    def settle(self, group: str, *, kept: bool) -> None:
        """Record how changes of a switch group ended; which they are, the UndoStore says.

        Raises:
            NotPermittedError: The record cannot be kept.
        """
        self._append(Settled(group, Outcome.KEPT if kept else Outcome.UNDONE))

    def note_found(self, entry: RegisterChange) -> None:
        """Record wanted bits that were already set, but not those that the record knows.

        Raises:
            NotPermittedError: The record cannot be kept.
        """
        bits = entry.mask
        for known in self._known:
            if (known.location, known.offset) == (entry.location, entry.offset):
                bits &= ~known.mask
        if bits:
            found = replace(entry, mask=bits, old=entry.old & bits, new=entry.new & bits)
            self._append(Found(found))
            self._known.append(found)

    def replace(self, record: UndoRecord) -> None:
        """Let the record hold just ``record``, at once: what restore left and what was found.

        Raises:
            NotPermittedError: The record cannot be kept.
        """
        try:
            _replace(self._files, record)
            self.close()
            self._descriptor = open_run_file(self._files, _RECORD, _APPEND)
        except OSError as error:
            raise cannot_keep(_WHAT, self._files, error) from error
        self._known = _registers(*(c.entry for c in record.changes), *record.found)

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _append(self, *lines: Line) -> None:
        """Add lines and wait for the disk; what is cut off is taken back."""
        data = encode_lines(lines)
        length = os.fstat(self._descriptor).st_size
        try:
            write_all(self._descriptor, data)
        except OSError as error:
            os.ftruncate(self._descriptor, length)
            raise cannot_keep(_WHAT, self._files, error) from error


def _registers(*changes: Change) -> list[RegisterChange]:
    return [change for change in changes if isinstance(change, RegisterChange)]


def _read(files: HostFiles) -> bytes:
    descriptor = open_run_file(files, _RECORD, os.O_RDONLY)
    with os.fdopen(descriptor, "rb") as file:
        data = file.read()
        if len(data) < os.fstat(descriptor).st_size:  # what was not read would be cut off as torn
            raise OSError(errno.EIO, os.strerror(errno.EIO))
    return data


def _replace(files: HostFiles, record: UndoRecord) -> None:
    """Write the whole record anew; a kill leaves the one before or this one."""
    lines: list[Line] = [Header(record.boot_id, __version__)]
    for change in record.changes:
        lines += [Run(__version__), begun(change.entry)]
        if change.outcome is not Outcome.BEGUN:
            lines.append(Settled(change.entry.group, change.outcome))
    lines += [Found(entry) for entry in record.found]
    descriptor = open_run_file(files, _NEW_RECORD, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    try:
        write_all(descriptor, encode_lines(lines))
    finally:
        os.close(descriptor)
    run_path(files, _NEW_RECORD).replace(run_path(files, _RECORD))
    sync_run_directory(files)
