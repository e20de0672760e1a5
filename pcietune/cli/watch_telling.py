"""Where watch's notices go: to the journal with fields of their own, to stderr, or to stdout."""

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime

import typer

from pcietune.cli import show
from pcietune.host.events import UdevEvents
from pcietune.host.journal import send
from pcietune.host.journal_stream import stderr_is_journal
from pcietune.report.watch import entry, json_line, line
from pcietune.tune.watch.notice import Notice, NoticeKind


def teller(*, as_json: bool) -> Callable[[Notice], None]:
    """Return what tells a notice: on stdout as JSON, else where this process's messages go."""
    if as_json:
        return _tell_json
    return _tell_journal if stderr_is_journal() else _tell_people


def udev_events(wake: int, tell: Callable[[Notice], None]) -> UdevEvents:
    """Return udev's events, and tell it where there will be none.

    Raises:
        NotPermittedError: The kernel gives no socket for it.
    """
    events = UdevEvents(wake)
    if not events.udev_runs:
        tell(Notice(NoticeKind.TROUBLE, "udev does not run here: only the slow poll is left"))
    return events


def _tell_json(notice: Notice) -> None:
    """Print a line at once; a reader that left ends the command, and so does a full stdout."""
    show.document(json_line(notice, datetime.now(UTC)))


def _tell_journal(notice: Notice) -> None:
    if send([entry(notice)]):
        _tell_people(notice)


def _tell_people(notice: Notice) -> None:
    """Print a line at once, as far as stderr takes it: no work ends for lack of a listener."""
    with suppress(OSError):
        typer.echo(line(notice), err=True)
