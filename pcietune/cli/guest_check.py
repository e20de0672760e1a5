"""``pcietune guest check``."""

from pathlib import Path
from typing import Annotated

import typer

from pcietune.cli.options import FromOption, JsonOption, PlanArgument


def check(
    plan: PlanArgument,
    source: FromOption = None,
    *,
    memory: Annotated[
        str | None,
        typer.Option(
            "--memory",
            metavar="SIZE",
            help="How much memory the VM was started with, such as 64G, where that is not what was"
            " planned.",
        ),
    ] = None,
    topology: Annotated[
        Path | None,
        typer.Option(
            "--topology",
            metavar="FILE",
            readable=False,  # whether it is, we say ourselves, with an exit code that tells it
            help="NCCL's topology file of the VM; else the one that NCCL_TOPO_FILE or"
            " /etc/nccl.conf names, or NCCL's default.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """In a VM: compare what arrived with its plan, and name the first difference.

    Of each function address, id, ports above it, NUMA node, BARs, link, ATS and clique; of the VM
    its NUMA nodes, their CPUs and memory, what the plan has not, and NCCL's topology file. Needs
    no profile and no mode. Reads, and writes nothing; exits 0 if all is as planned, 3 if something
    differs, 5 or 6 if something could not be read. Examples:

    `pcietune guest check vm0.json`

    `pcietune guest check vm0.json --json`

    `pcietune guest check vm0.json --topology /etc/nccl-topology.xml`

    `pcietune guest check vm0.json --from recording-made-in-the-vm.tar.gz`
    """
    from dataclasses import replace

    from pcietune.cli import show
    from pcietune.cli.planned import read_plan
    from pcietune.cli.vm_topology import read_topology
    from pcietune.guest.check.check import check as check_vm
    from pcietune.guest.check.document import check_document
    from pcietune.guest.check.told import lines
    from pcietune.guest.memory_size import parse_memory
    from pcietune.guest.scaled import with_memory
    from pcietune.host.source import open_host
    from pcietune.report.json_text import encode

    planned = read_plan(plan)
    if memory is not None:
        planned = with_memory(planned, parse_memory(memory))
    with open_host(source) as host:
        checked = check_vm(planned, host, read_topology(host.files, topology))
        checked = replace(checked, unseen=tuple(host.problems))
    if as_json:
        show.document(encode(check_document(checked)))
    else:
        show.lines(lines(checked))
    unread = {str(row.error): row.error for row in checked.rows if row.error is not None}
    show.end(unread.values(), checked.exit_code)
