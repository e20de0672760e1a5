"""``pcietune guest qemu``."""

from pathlib import Path
from typing import Annotated

import typer

from pcietune.cli.options import JsonOption, MemoryOption, PlanArgument


def qemu(  # noqa: PLR0913 -- one parameter per option
    plan: PlanArgument,
    *,
    memory: MemoryOption = None,
    ovmf_code: Annotated[
        Path, typer.Option("--ovmf-code", metavar="FILE", readable=False, help="OVMF's program.")
    ] = Path("/usr/share/OVMF/OVMF_CODE_4M.fd"),
    ovmf_vars: Annotated[
        Path | None,
        typer.Option(
            "--ovmf-vars",
            metavar="FILE",
            readable=False,
            help="The VM's own copy of OVMF's variables; without it they begin anew at each start.",
        ),
    ] = None,
    tcg: Annotated[
        bool,
        typer.Option("--tcg", help="Emulate the CPUs in software, to see what the VM enumerates."),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Print the command that starts a planned VM by QEMU.

    It lacks only disk, network and console. With --json it is the list of arguments. Reads the
    plan alone, and writes nothing; exits 4 if the QEMU that the plan is for cannot do what the plan
    says. Examples:

    `pcietune guest qemu vm0.json`

    `pcietune guest qemu vm0.json --memory 64G > vm0.sh`

    `pcietune guest plan --gpus 4 --json | pcietune guest qemu - --json`
    """
    from pcietune.cli import show
    from pcietune.cli.planned import read_plan
    from pcietune.guest.memory_size import parse_memory
    from pcietune.guest.qemu.arguments import qemu_arguments
    from pcietune.guest.qemu.command_text import command_lines
    from pcietune.guest.qemu.options import Accelerator, QemuOptions
    from pcietune.guest.scaled import with_memory
    from pcietune.report.json_text import encode

    planned = read_plan(plan)
    if memory is not None:
        planned = with_memory(planned, parse_memory(memory))
    accelerator = Accelerator.TCG if tcg else Accelerator.KVM
    options = QemuOptions(
        accelerator, str(ovmf_code), None if ovmf_vars is None else str(ovmf_vars)
    )
    arguments = qemu_arguments(planned, options)
    for warning in planned.warnings:
        show.note(warning)
    if as_json:
        show.document(encode(arguments))
    else:
        show.document("\n".join(command_lines(planned, arguments)))
