"""The body of ``guest plan``: look at the host, choose, lay out, and print or write that."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rich.markup import escape
from rich.tree import Tree

from pcietune.cli import show
from pcietune.cli.following import who_has
from pcietune.cli.judging import Request, decided, describe, judge_by, recognise
from pcietune.cli.progress import told
from pcietune.cli.typed_wish import Typed, wish_of
from pcietune.errors import BadInputError, ExitCode
from pcietune.guest.plan import Plan
from pcietune.guest.plan_lines import plan_heading, plan_lines, tree_lines
from pcietune.guest.plan_text import plan_text
from pcietune.guest.planning import make_plan
from pcietune.guest.stock.beside import Beside
from pcietune.host.mdevs import read_mdevs
from pcietune.host.result_file import check_place, result_file
from pcietune.host.source import open_host
from pcietune.host.sysfs import SysfsHost
from pcietune.host.uses.holds import read_holds
from pcietune.host.uses.look import Look
from pcietune.model.fabric import Fabric
from pcietune.model.profile import ModeName
from pcietune.report.outcome import Outcome
from pcietune.report.printable import printable
from pcietune.tune.match.survey import survey

_STDOUT = Path("-")


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line asked for, beside the VM.

    Attributes:
        source: ``--from``.
        profile: ``--profile``; None to match the host.
        mode: ``--mode``; None for the setting.
        output: Where to write the plan; None for nowhere.
        as_json: Whether to print it as JSON.
    """

    source: Sequence[Path] | None
    profile: str | None
    mode: ModeName | None
    output: Path | None
    as_json: bool


def plan_a_vm(asked: Asked, typed: Typed) -> None:
    """Plan a VM, and end the command.

    Raises:
        PcietuneError: No plan can be made.
        typer.Exit: Always else.
    """
    if asked.output not in (None, _STDOUT):
        check_place(asked.output)
    outcome = Outcome()
    with open_host(asked.source) as host, told(host):
        plan = _planned(host, asked, typed, outcome)
    if asked.output not in (None, _STDOUT):
        with result_file(asked.output) as written:
            written.write(plan_text(plan).encode() + b"\n")
    if asked.as_json or asked.output == _STDOUT:
        show.document(plan_text(plan))
    else:
        show.trees([_tree(plan)], _plain(plan))
        show.lines(plan_lines(plan, None if asked.output is None else str(asked.output)))
    show.end(outcome.errors, ExitCode.of_several([e.exit_code for e in outcome.errors]))


def _planned(host: SysfsHost, asked: Asked, typed: Typed, outcome: Outcome) -> Plan:
    """Return the plan.

    Raises:
        NoProfileError: None describes the host, or two do.
        BadInputError: There is no GPU, or the host cannot give what is wanted.
    """
    describe(host, outcome)
    settings = decided(host, outcome, asked.mode)
    recognise(host, Request(asked.profile, asked.mode), settings, outcome)
    if outcome.match is None:
        raise BadInputError(
            "there is no GPU on this host that a VM could get", hint="pcietune topo --all"
        )
    wish = wish_of(typed, host)
    fabric = survey(host, lambda functions: functions)
    audited = judge_by(host, fabric, outcome.match.profile, settings)
    return make_plan(host, audited, _beside(host, fabric), wish)


def _plain(plan: Plan) -> Iterator[str]:
    yield plan_heading(plan)
    for depth, line in tree_lines(plan):
        yield f"{'  ' * depth}{line}"


def _tree(plan: Plan) -> Tree:
    """Return the VM's tree for a terminal, with nothing that rich takes for markup."""
    above = [Tree(escape(printable(plan_heading(plan))))]
    for depth, line in tree_lines(plan):
        del above[depth + 1 :]
        above.append(above[depth].add(escape(printable(line)), highlight=True))
    return above[0]


def _beside(host: SysfsHost, fabric: Fabric) -> Beside:
    return Beside(
        users={address: str(user) for address, user in who_has(host, fabric).items()},
        holds=partial(read_holds, Look(host.files)),
        mdevs=read_mdevs(host.files),
    )
