"""The log of what was seen of ATS when VMs had started: a line of JSON for each function."""

import os
from collections.abc import Sequence
from datetime import datetime

import msgspec

from pcietune.host.host_files import HostFiles
from pcietune.host.run.run_files import (
    STATE,
    cannot_keep,
    open_run_file,
    run_path,
    write_all,
)
from pcietune.host.run.state_lock import state_locked
from pcietune.model.ats_seen import AtsSeen

STARTS = "ats-at-start.jsonl"
EARLIER_STARTS = "ats-at-start.jsonl.1"

_LARGEST = 0x100000  # bytes; then a new file is begun, and one earlier is kept


class AtsAtStart(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What was seen of one function's ATS after a VM had opened it.

    Attributes:
        time: When, in UTC, as ``2026-12-02T09:15:00Z``.
        boot_id: In which boot; None if not known.
        vm: The VM's name, with escapes for what is no UTF-8; None if nobody told.
        address: Of the function then.
        location: Of the function.
        id: Vendor and Device ID.
        ats_control: The register's 16 bits as ``0x8000``; None if it was not read.
        result: ``Enable+``, ``Enable-``, ``not_applicable``, ``not_open`` or ``unreadable``.
    """

    time: str
    boot_id: str | None
    vm: str | None
    address: str
    location: str
    id: str
    ats_control: str | None
    result: str


def keep_starts(
    files: HostFiles, seen: Sequence[AtsSeen], *, vm: str | None, boot_id: str | None, now: datetime
) -> None:
    """Append what was seen; all lines of one VM stand together.

    Raises:
        BadInputError: Somebody else than root could have made the file or its directory.
        NotPermittedError: It cannot be kept: not root, or ``/var/lib`` is full or read-only.
    """
    time = now.strftime("%Y-%m-%dT%H:%M:%SZ")
    data = b"".join(msgspec.json.encode(_line(each, vm, boot_id, time)) + b"\n" for each in seen)
    try:
        with state_locked(files):
            if _append(files, data) > _LARGEST:
                run_path(files, STARTS, STATE).replace(run_path(files, EARLIER_STARTS, STATE))
    except OSError as error:
        raise cannot_keep("what was seen of ATS", files, error, STATE) from error


def _append(files: HostFiles, data: bytes) -> int:
    """Append all of ``data`` or nothing, and return the file's size in bytes.

    Raises:
        OSError: It cannot be written, or not all of it.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    descriptor = open_run_file(files, STARTS, flags, STATE)
    try:
        before = os.fstat(descriptor).st_size
        try:
            write_all(descriptor, data)
        except OSError:
            os.ftruncate(descriptor, before)
            raise
    finally:
        os.close(descriptor)
    return before + len(data)


def _line(each: AtsSeen, vm: str | None, boot_id: str | None, time: str) -> AtsAtStart:
    function = each.function
    return AtsAtStart(
        time=time,
        boot_id=boot_id,
        vm=None if vm is None else vm.encode(errors="backslashreplace").decode(),
        address=str(function.address),
        location=function.location,
        id=function.id,
        ats_control=None if each.control is None else f"{each.control:#06x}",
        result=each.sight,
    )
