"""Put a run's outcome on the terminal: results on stdout, all else on stderr."""

from collections.abc import Iterable

import typer
from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from pcietune.errors import ExitCode, PcietuneError

_STYLES = {
    "FAIL": "bold red",
    "FAILED": "bold red",
    "NOT": "bold red",
    "not": "yellow",
    "PENDING": "yellow",
    "deferred": "yellow",
    "refused": "yellow",
    "left": "yellow",
    "pass": "green",
}


def lines(text: Iterable[str]) -> None:
    """Print lines on stdout, each coloured by its first word where stdout is a terminal."""
    console = Console(soft_wrap=True, highlight=False)
    for line in text:
        console.print(Text(line, style=_STYLES.get(line.split(" ", 1)[0], "")))


def error(failure: PcietuneError) -> None:
    """Print what is wrong, and what to try, on stderr."""
    console = Console(stderr=True, soft_wrap=True, highlight=False)
    console.print(Text(f"pcietune: {failure}"))
    if failure.hint:
        console.print(Text(f"  try: {failure.hint}"))


def trees(for_terminal: Iterable[Tree], plain: Iterable[str]) -> None:
    """Print trees where stdout is a terminal, else the plain lines."""
    console = Console()
    if console.is_terminal:
        for tree in for_terminal:
            console.print(tree, soft_wrap=True)
    else:
        lines(plain)


def note(what: str) -> None:
    """Print something worth knowing on stderr."""
    Console(stderr=True, soft_wrap=True, highlight=False).print(Text(f"pcietune: {what}"))


def progress(what: str) -> None:
    """Print what is being done on stderr, if that is a terminal."""
    console = Console(stderr=True, soft_wrap=True, highlight=False)
    if console.is_terminal:
        console.print(Text(what, style="dim"))


def end(errors: Iterable[PcietuneError], exit_code: ExitCode) -> None:
    """Print the errors and end the command.

    Raises:
        typer.Exit: Always.
    """
    for failure in errors:
        error(failure)
    raise typer.Exit(int(exit_code))
