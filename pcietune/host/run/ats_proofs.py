"""The file that remembers, for one boot, whether the kernel was seen to enable functions' ATS."""

import os
from collections.abc import Iterator

import msgspec

from pcietune.errors import BadInputError
from pcietune.host.host_files import HostFiles
from pcietune.host.run.run_files import (
    STATE,
    cannot_keep,
    make_run_directory,
    open_run_file,
    run_path,
    sync_run_directory,
    write_all,
)
from pcietune.model.ats_proof import AtsProof, AtsTrials

PROOFS = "ats-proofs.jsonl"
_NEW_PROOFS = "ats-proofs.jsonl.new"


class _Line(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One function that was tried.

    Attributes:
        boot_id: In which boot.
        location: Of the function.
        id: Vendor and Device ID.
        enabled: Whether ATS Enable was seen.
    """

    boot_id: str
    location: str
    id: str
    enabled: bool


def read_trials(files: HostFiles, boot_id: str | None) -> AtsTrials:
    """Return what was tried in this boot.

    What is absent, unreadable, broken, of another boot, or could be somebody else's work proves
    nothing.
    """
    try:
        descriptor = open_run_file(files, PROOFS, os.O_RDONLY, STATE)
        with os.fdopen(descriptor, "rb") as file:
            lines = [line for line in _decoded(file.read()) if line.boot_id == boot_id]
    except (OSError, BadInputError):
        return AtsTrials()
    return AtsTrials(
        frozenset(AtsProof(line.location, line.id) for line in lines if line.enabled),
        frozenset(AtsProof(line.location, line.id) for line in lines if not line.enabled),
    )


def keep_trials(files: HostFiles, boot_id: str, trials: AtsTrials) -> None:
    """Remember what was tried in this boot beside what was tried in it before, and nothing else.

    Raises:
        BadInputError: Somebody else than root could have made the file or its directory.
        NotPermittedError: It cannot be kept: ``/var/lib`` is full, missing or read-only.
    """
    known = read_trials(files, boot_id).then(trials)
    lines = [
        _Line(boot_id, tried.location, tried.id, enabled)
        for tried_ones, enabled in ((known.proofs, True), (known.disproofs, False))
        for tried in sorted(tried_ones, key=lambda proof: (proof.location, proof.id))
    ]
    data = b"".join(msgspec.json.encode(line) + b"\n" for line in lines)
    try:
        make_run_directory(files, STATE)
        descriptor = open_run_file(files, _NEW_PROOFS, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, STATE)
        try:
            write_all(descriptor, data)
        finally:
            os.close(descriptor)
        run_path(files, _NEW_PROOFS, STATE).replace(run_path(files, PROOFS, STATE))
        sync_run_directory(files, STATE)
    except OSError as error:
        raise cannot_keep("the proofs of ATS", files, error, STATE) from error


def _decoded(data: bytes) -> Iterator[_Line]:
    """Yield the lines that make sense."""
    for line in data.splitlines():
        try:
            yield msgspec.json.decode(line, type=_Line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            continue
