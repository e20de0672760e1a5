"""End a command that found out something: the one document, or text, and the exit code."""

from collections.abc import Iterable
from itertools import chain

from pcietune.cli import show
from pcietune.errors import ExitCode
from pcietune.report.fill_document import document
from pcietune.report.json_text import encode
from pcietune.report.outcome import Outcome


def print_outcome(
    outcome: Outcome,
    exit_code: ExitCode,
    *,
    as_json: bool,
    sections: Iterable[Iterable[str]],
) -> None:
    """Print the outcome and end the command.

    Interrupted, nothing is printed as JSON: half a truth in a file is worse than none.

    Raises:
        typer.Exit: Always.
    """
    if not as_json:
        show.lines(chain.from_iterable(sections))
    elif exit_code is not ExitCode.INTERRUPTED:
        show.document(encode(document(outcome, exit_code)))
    show.end(() if as_json else outcome.errors, exit_code)
