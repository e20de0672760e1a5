"""``pcietune guest nvswitch``."""

from pathlib import Path
from typing import Annotated

import typer

from pcietune.cli.options import FromOption, JsonOption


def nvswitch(  # noqa: PLR0913 -- one parameter per option
    plan: Annotated[
        Path | None,
        typer.Argument(
            metavar="PLAN",
            readable=False,  # whether it is, we say ourselves, with an exit code that tells it
            help="The file that `pcietune guest plan -o FILE` wrote, or - for standard input.",
        ),
    ] = None,
    *,
    board: Annotated[
        str | None,
        typer.Option(
            "--board", metavar="NAME", help="Without PLAN: of this board, not of this host's."
        ),
    ] = None,
    active: Annotated[
        list[int] | None,
        typer.Option(
            "--active",
            metavar="ID",
            min=0,
            help="Without --fmpm: a partition that is active now; may be given several times.",
        ),
    ] = None,
    fmpm: Annotated[
        Path | None,
        typer.Option(
            "--fmpm",
            metavar="FILE",
            readable=False,
            help="What `fmpm -l` printed: Fabric Manager's own partitions, and which are active.",
        ),
    ] = None,
    modules: Annotated[
        Path | None,
        typer.Option(
            "--modules",
            metavar="FILE",
            readable=False,
            help="Without PLAN: module ids by hand, a line for each GPU: `0000:23:00.0: 1`.",
        ),
    ] = None,
    hostname: Annotated[
        str | None,
        typer.Option("--hostname", metavar="ADDRESS", help="Where fmpm reaches Fabric Manager."),
    ] = None,
    socket: Annotated[
        str | None,
        typer.Option(
            "--unix-domain-socket", metavar="PATH", help="The socket by which fmpm reaches it."
        ),
    ] = None,
    source: FromOption = None,
    as_json: JsonOption = False,
) -> None:
    """Tell NVSwitch partitions, and the steps around a planned VM's start and stop.

    With a plan: which partition its GPUs are, what is to be deactivated first, the lines of fmpm
    and of Fabric Manager's configuration, and what a service VM is given. Without: the partitions
    of this host's board, and which are free. Reads, and runs nothing; exits 4 if no partition is
    that of the plan, or the board is not known. Examples:

    `fmpm -l | pcietune guest nvswitch vm0.json --fmpm -`

    `pcietune guest nvswitch vm0.json --active 3`

    `pcietune guest nvswitch vm0.json --hostname 192.0.2.7 --json`

    `pcietune guest nvswitch --active 3 --active 9`

    `pcietune guest nvswitch --board hopper`
    """
    from pcietune.cli import show
    from pcietune.cli.listing_partitions import fabric_managers, listed
    from pcietune.cli.planned import read_plan
    from pcietune.errors import BadInputError
    from pcietune.guest.nvswitch.document import handling_document, listing_document
    from pcietune.guest.nvswitch.fabric_manager import Reach
    from pcietune.guest.nvswitch.handling import handle
    from pcietune.guest.nvswitch.text import handling_lines, listing_lines
    from pcietune.report.json_text import encode

    told = fabric_managers(fmpm, active)
    reach = Reach(hostname, socket)
    if plan is not None:
        if board is not None or modules is not None or source:
            raise BadInputError(
                "--board, --modules and --from are for the partitions of a host, and a plan names"
                " its own",
                hint="leave them out, or the plan",
            )
        handling = handle(read_plan(plan), told.active, reach, told.table)
        if as_json:
            show.document(encode(handling_document(handling)))
        else:
            show.lines(handling_lines(handling))
        return
    listing = listed(source, board, modules, told)
    if as_json:
        show.document(encode(listing_document(listing)))
    else:
        show.lines(listing_lines(listing))
