"""Put a run's outcome on the terminal: results on stdout, all else on stderr."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import NoReturn

import typer
from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from pcietune.errors import ExitCode, PcietuneError
from pcietune.host.standard_output import discard_the_rest
from pcietune.report.printable import printable

_STYLES = {
    "FAIL": "bold red",
    "FAILED": "bold red",
    "NOT": "bold red",
    "not": "yellow",
    "PENDING": "yellow",
    "deferred": "yellow",
    "done": "green",
    "open": "yellow",
    "refused": "yellow",
    "left": "yellow",
    "pass": "green",
}


def lines(text: Iterable[str]) -> None:
    """Print lines on stdout, each coloured by its first word where stdout is a terminal."""
    console = Console(soft_wrap=True, highlight=False)
    with _results():
        for line in text:
            console.print(Text(printable(line), style=_STYLES.get(line.split(" ", 1)[0], "")))


def document(text: str) -> None:
    """Print a document on stdout as it is, in UTF-8 whatever the locale."""
    with _results():
        typer.echo(text.removesuffix("\n").encode())


def trees(for_terminal: Iterable[Tree], plain: Iterable[str]) -> None:
    """Print trees where stdout is a terminal, broken at its width; else the plain lines."""
    console = Console()
    if not console.is_terminal:
        lines(plain)
        return
    with _results():
        for tree in for_terminal:
            console.print(tree)


def error(failure: PcietuneError) -> None:
    """Print what is wrong, and what to try, on stderr."""
    note(str(failure))
    if failure.hint:
        _aside(Text(f"  try: {printable(failure.hint)}"))


def note(what: str) -> None:
    """Print something worth knowing on stderr."""
    _aside(Text("\n".join(map(printable, f"pcietune: {what}".split("\n")))))


def progress(what: str) -> None:
    """Print what is being done on stderr, if that is a terminal."""
    if Console(stderr=True).is_terminal:
        _aside(Text(what, style="dim"))


def end(errors: Iterable[PcietuneError], exit_code: ExitCode) -> NoReturn:
    """Print the errors and end the command.

    Raises:
        typer.Exit: Always.
    """
    for failure in errors:
        error(failure)
    raise typer.Exit(int(exit_code))


@contextmanager
def _results() -> Iterator[None]:
    """End the command with 1 where stdout takes no more: what was found out is not told.

    A reader that left early is Typer's business.

    Raises:
        typer.Exit: Stdout is full.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as failure:
        note(f"the result could not be printed: {failure.strerror}")
        discard_the_rest()
        raise typer.Exit(1) from failure


def _aside(text: Text) -> None:
    """Print on stderr, as far as that takes it: no work ends for lack of a listener."""
    with suppress(OSError):
        Console(stderr=True, soft_wrap=True, highlight=False).print(text)
