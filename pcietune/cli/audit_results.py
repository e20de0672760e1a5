"""Where the results of an audit go beside stdout: a JUnit file, metrics, the journal."""

import time
from dataclasses import dataclass
from pathlib import Path

from pcietune.cli import show
from pcietune.errors import BadInputError
from pcietune.host.result_file import check_place, earlier_text, result_file
from pcietune.report.outcome import Outcome

_METRICS = ".prom"


@dataclass(frozen=True, slots=True)
class Places:
    """What was asked for.

    Attributes:
        junit: The JUnit file; None for none.
        textfile: The file for node_exporter; None for none.
        journal: Whether the journal is told.
    """

    junit: Path | None
    textfile: Path | None
    journal: bool


def check(places: Places, *, recorded: bool) -> None:
    """Do nothing if all of it can be, so that no work is done in vain.

    Raises:
        BadInputError: A file cannot be there, would not be read, or a recorded host's findings
            were to go to this machine's journal.
        NotPermittedError: This user may not look there.
    """
    if places.journal and recorded:
        raise BadInputError(
            "--journal: the journal is this machine's, and the findings are of a recorded host",
            hint="leave out --journal or --from",
        )
    if places.textfile is not None and places.textfile.suffix != _METRICS:
        raise BadInputError(
            f"{places.textfile}: node_exporter reads only files whose names end in {_METRICS}",
            hint=f"--textfile {places.textfile.with_suffix(_METRICS)}",
        )
    for file in (places.junit, places.textfile):
        if file is not None:
            check_place(file)


def write_junit(places: Places, outcome: Outcome) -> None:
    """Write the JUnit file, if one is asked for.

    Raises:
        BadInputError: None can be there any more.
        NotPermittedError: It may not be written.
    """
    if places.junit is not None:
        from pcietune.report.junit import junit

        _write(places.junit, junit(outcome))


def write_metrics(places: Places, outcome: Outcome) -> None:
    """Write the metrics, if they are asked for; errors as ``write_junit``."""
    if places.textfile is not None:
        from pcietune.report.metrics import metrics

        earlier = earlier_text(places.textfile)
        _write(places.textfile, metrics(outcome, now_s=time.time(), earlier=earlier))


def tell_journal(outcome: Outcome, journal: Path) -> None:
    """Write an entry for each failing finding; on stderr where there is no journal."""
    from pcietune.host.journal import send
    from pcietune.report.journal import journal_entries

    for entry in send(journal_entries(outcome), journal):
        show.note(entry["MESSAGE"])


def _write(file: Path, data: bytes) -> None:
    with result_file(file) as opened:
        opened.write(data)
