"""What apply and restore begin with: a host that may be written to, held by a lock."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

from pcietune.cli import show
from pcietune.errors import BadInputError
from pcietune.host.recordings.archive import pack
from pcietune.host.result_file import check_place
from pcietune.host.run.lock import locked, locked_archive
from pcietune.host.source import is_recording, open_host
from pcietune.host.sysfs import SysfsHost


@contextmanager
def writable_host(
    source: Sequence[Path] | None, to: Path | None, *, in_place: bool, command: str, wait_s: float
) -> Iterator[SysfsHost]:
    """Yield the host, locked; of a recorded one what was written ends where it was asked for.

    Raises:
        BadInputError: A recording without one place for the result, or a place without a recording.
        LockedError: Another pcietune is at work on the host.
    """
    _check(source, to, in_place=in_place)
    archive = source[0] if source and in_place and source[0].is_file() else None
    with _held(archive, wait_s), open_host(source, copied=to is not None) as host:
        with locked(host.files, command, wait_s=wait_s, on_wait=_say_who):
            yield host
        if to is not None:
            pack(host.root, to)
        elif archive is not None:
            pack(host.root, archive)


def _held(archive: Path | None, wait_s: float) -> AbstractContextManager[None]:
    """Return what holds an archive: the lock inside is in a copy of this run's own."""
    if archive is None:
        return nullcontext()
    return locked_archive(archive, wait_s=wait_s, on_wait=_say_who)


def _say_who(holder: str) -> None:
    show.note(f"waiting for {holder}")


def _check(source: Sequence[Path] | None, to: Path | None, *, in_place: bool) -> None:
    if not source and (to is not None or in_place):
        raise BadInputError(
            "--to and --in-place are for recorded hosts", hint="name one with --from FILE"
        )
    if to is not None and in_place:
        raise BadInputError(
            "--to and --in-place: only one of both",
            hint="--in-place writes the result back to the recording, --to FILE to another file",
        )
    if source and to is None and not in_place:
        raise BadInputError(
            f"{source[0]} is a recording: where shall the result go?",
            hint="add either --to FILE or --in-place",
        )
    if source and in_place and not (len(source) == 1 and is_recording(source[0])):
        raise BadInputError(
            f"{source[0]} is no recording that could be written to", hint="use --to FILE instead"
        )
    if to is not None:
        check_place(to)
