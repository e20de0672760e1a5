"""What ``guest nccl`` shows: a topology file, the variables beside it, or a file's mistakes."""

from dataclasses import dataclass
from pathlib import Path

from pcietune.cli import show
from pcietune.cli.planned import read_plan
from pcietune.errors import BadInputError, ExitCode
from pcietune.guest.nccl.dialect import Library
from pcietune.guest.nccl.environment import conf_lines, environment, reminders, shell_lines
from pcietune.guest.nccl.lint.lint import SCHEMA, Checked, complaint_lines, lint
from pcietune.guest.nccl.text import topology_text
from pcietune.guest.nccl.topology import topology
from pcietune.guest.nccl.wanted import Wanted, parse_addresses, parse_cpu
from pcietune.guest.plan import Plan
from pcietune.host.text_file import read_text
from pcietune.report.json_text import encode

_HINT = "give a topology file, or - for standard input"


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line asked for.

    Attributes:
        plan: The plan's file; None if it was not given.
        library: Which library is to read the file.
        invent: ``--invent``.
        addresses: Each ``--address``.
        cpu: ``--cpu``; None to have NCCL find out.
    """

    plan: Path | None
    library: Library
    invent: bool
    addresses: tuple[str, ...]
    cpu: str | None


def show_topology(asked: Asked) -> None:
    """Print the topology file, and on stderr what is to be known of it."""
    plan, wanted = _read(asked)
    made = topology(plan, wanted)
    show.document(topology_text(made.root))
    for note in made.notes:
        show.note(note)


def show_environment(asked: Asked, topo_file: str, *, conf: bool) -> None:
    """Print the variables, for ``/etc/nccl.conf`` or for a shell."""
    plan, wanted = _read(asked)
    variables = environment(plan, wanted, topo_file)
    told = reminders(plan, wanted.library)
    show.lines(conf_lines(variables, told) if conf else shell_lines(variables, told))


def show_check(file: Path, asked: Asked, *, as_json: bool) -> None:
    """Print what is wrong with a topology file, and end the command: 3 if NCCL minds it."""
    plan = None if asked.plan is None else read_plan(asked.plan)
    addresses = {} if plan is None else parse_addresses(list(asked.addresses), plan)
    library = asked.library
    text = read_text(file, hint=_HINT, largest_mib=1)
    checked = Checked(
        schema=SCHEMA,
        file=str(file),
        library=library,
        complaints=lint(text, library, plan, addresses),
    )
    if as_json:
        show.document(encode(checked))
    else:
        show.lines(complaint_lines(checked))
    show.end([], ExitCode.DIFFERS if checked.failed else ExitCode.OK)


def _read(asked: Asked) -> tuple[Plan, Wanted]:
    if asked.plan is None:
        raise BadInputError(
            "no plan is named", hint="pcietune guest nccl PLAN, or --check FILE to check a file"
        )
    plan = read_plan(asked.plan)
    addresses = parse_addresses(list(asked.addresses), plan)
    cpu = parse_cpu(asked.cpu) if asked.cpu is not None else ()
    return plan, Wanted(asked.library, asked.invent, addresses, cpu)
