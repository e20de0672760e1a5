"""The two hosts that ``diff`` lays beside each other: each is opened, read and closed."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from pcietune.cli import show
from pcietune.cli.looking import look_over
from pcietune.cli.progress import told
from pcietune.errors import BadInputError
from pcietune.host.source import open_host
from pcietune.model.profile import ModeName
from pcietune.report.outcome import Outcome
from pcietune.tune.diff.fact import Kind
from pcietune.tune.diff.side import Side, read_side
from pcietune.tune.paths.pairs import Look, view_paths

_LIVE = Path("live")
_MOST_PROBLEMS = 3  # of one host; of a dump by others than root each function is one


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line asked for.

    Attributes:
        profile: ``--profile``; None to match each host.
        mode: ``--mode``; None for each host's setting.
        kinds: What is compared.
    """

    profile: str | None
    mode: ModeName | None
    kinds: Collection[Kind]


def sides(sources: tuple[Path, Path], asked: Asked) -> tuple[Side, Side]:
    """Return the two hosts; ``live`` is this machine.

    Raises:
        BadInputError: Both are this machine, or one is no host.
        NotPermittedError: One may not be read.
    """
    if sources[0] == sources[1] == _LIVE:
        raise BadInputError(
            "both hosts are this machine, as it is now",
            hint="record it before, and compare with that: pcietune record before.tar",
        )
    before, after = map(partial(_side, asked=asked), sources)
    return before, after


def _side(source: Path, asked: Asked) -> Side:
    outcome = Outcome()
    with open_host(None if source == _LIVE else [source]) as host, told(host):
        fabric, roles = look_over(host, asked.profile, outcome)
        paths = None
        if Kind.ROUTE in asked.kinds:
            mode = asked.mode or outcome.mode
            paths = view_paths(host, fabric, roles, look=Look(mode))
        side = read_side(host, fabric, paths, complete=host.files.complete)
    return replace(side, problems=(*outcome.errors, *side.problems))


def tell_problems(name: Path, side: Side) -> None:
    """Print what could not be read of a host: the first in full, of many how many more."""
    for problem in side.problems[:_MOST_PROBLEMS]:
        show.error(problem)
    more = len(side.problems) - _MOST_PROBLEMS
    if more > 0:
        show.note(f"{name}: {more} more could not be read; --json lists them")
