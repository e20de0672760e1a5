"""``pcietune guest nccl``."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from pcietune.cli.options import JsonOption


class EnvironmentForm(StrEnum):
    """How variables are written."""

    SHELL = "shell"
    CONF = "conf"


def nccl(  # noqa: PLR0913 -- one parameter per option
    plan: Annotated[
        Path | None,
        typer.Argument(
            metavar="PLAN",
            readable=False,  # whether it is, we say ourselves, with an exit code that tells it
            help="The file that `pcietune guest plan -o FILE` wrote, or - for standard input;"
            " with --check it may be missing.",
        ),
    ] = None,
    *,
    invent: Annotated[
        bool,
        typer.Option(
            "--invent",
            help="Invent switches, for a flat VM; so it is where the plan has no emulated ones.",
        ),
    ] = False,
    address: Annotated[
        list[str] | None,
        typer.Option(
            "--address",
            metavar="NAME=ADDRESS",
            help="Where a function of the plan is in a VM that others laid out.",
        ),
    ] = None,
    cpu: Annotated[
        str | None,
        typer.Option(
            "--cpu",
            metavar="CPU",
            help="The host's CPU where the VM shows another: vendor, family and model in decimal,"
            " such as GenuineIntel:6:143; or arm64.",
        ),
    ] = None,
    rccl: Annotated[bool, typer.Option("--rccl", help="Write, or check, for RCCL.")] = False,
    env: Annotated[
        EnvironmentForm | None,
        typer.Option(
            "--env", help="Print the variables for the VM instead: a shell's, or /etc/nccl.conf."
        ),
    ] = None,
    topo_file: Annotated[
        str,
        typer.Option("--topo-file", metavar="PATH", help="Where the VM has the topology file."),
    ] = "/etc/nccl-topology.xml",
    check: Annotated[
        Path | None,
        typer.Option(
            "--check",
            metavar="FILE",
            readable=False,
            help="Check this topology file instead, whoever wrote it; with a PLAN also whether it"
            " fits the VM.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Print NCCL's topology file of a planned VM, what else NCCL needs, or what is wrong with one.

    The file is for NCCL_TOPO_FILE in the VM. With --check, exits 3 if NCCL would stop at the file
    or take it for something else than was meant, and 0 if there are only warnings and notes.
    Writes nothing. Examples:

    `pcietune guest nccl vm0.json >topology.xml`

    `pcietune guest nccl vm0.json --invent --address gpu0=0000:05:00.0 --address nic0=0000:06:00.0`

    `pcietune guest nccl vm0.json --env conf`

    `pcietune guest nccl --check topology.xml`

    `pcietune guest nccl vm0.json --check topology.xml --json`
    """
    from pcietune.cli import topology_files
    from pcietune.errors import BadInputError
    from pcietune.guest.nccl.dialect import Library

    if as_json and check is None:
        raise BadInputError(
            "--json tells what --check found", hint="pcietune guest nccl --check FILE --json"
        )
    if check is not None and (invent or cpu is not None or env is not None):
        raise BadInputError(
            "--invent, --cpu and --env are of what is written, and --check writes nothing",
            hint="leave them out, or --check",
        )
    if check is not None and plan is None and address:
        raise BadInputError(
            "--address is of a plan's function, and no plan is named",
            hint="pcietune guest nccl PLAN --check FILE --address gpu0=0000:05:00.0",
        )
    library = Library.RCCL if rccl else Library.NCCL
    asked = topology_files.Asked(plan, library, invent, tuple(address or ()), cpu)
    if check is not None:
        topology_files.show_check(check, asked, as_json=as_json)
    elif env is None:
        topology_files.show_topology(asked)
    else:
        topology_files.show_environment(asked, topo_file, conf=env is EnvironmentForm.CONF)
