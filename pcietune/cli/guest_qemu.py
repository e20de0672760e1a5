"""``pcietune guest qemu``."""

from pcietune.cli.options import JsonOption, PlanArgument


def qemu(plan: PlanArgument, *, as_json: JsonOption = False) -> None:
    """Print the command that starts a planned VM by QEMU.

    Reads the plan alone, and writes nothing. Examples:

    `pcietune guest qemu vm0.json`

    `pcietune guest qemu vm0.json --json`
    """
    import msgspec

    from pcietune.cli import show
    from pcietune.cli.planned import read_plan
    from pcietune.guest.qemu.arguments import qemu_arguments
    from pcietune.guest.qemu.command_text import command_lines

    arguments = qemu_arguments(read_plan(plan))
    if as_json:
        show.document(msgspec.json.format(msgspec.json.encode(arguments), indent=2).decode())
    else:
        show.lines(command_lines("qemu-system-x86_64", arguments))
