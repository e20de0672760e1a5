"""``pcietune guest libvirt``."""

from typing import Annotated

import typer

from pcietune.cli.options import MemoryOption, PlanArgument


def libvirt(
    plan: PlanArgument,
    *,
    fragment: Annotated[
        bool,
        typer.Option(
            "--fragment",
            help="Print only what is to be merged into a domain of your own: NUMA nodes, CPU,"
            " controllers, host devices and overrides.",
        ),
    ] = False,
    first_index: Annotated[
        int,
        typer.Option(
            "--first-index",
            metavar="N",
            min=1,
            max=255,
            help="With --fragment: the first index that no PCI controller of your domain has.",
        ),
    ] = 1,
    memory: MemoryOption = None,
    release: Annotated[
        str,
        typer.Option(
            "--libvirt", metavar="VERSION", help="The oldest libvirt that is to read the domain."
        ),
    ] = "9.0",
) -> None:
    """Print a planned VM as a domain of libvirt.

    A whole domain lacks only disks and networks; libvirt puts those, without an address, where
    they move none of the planned addresses. Host devices are not managed: bind them by `pcietune
    vfio bind`. Reads the plan alone, and writes nothing; exits 4 if libvirt cannot be told the
    plan. Examples:

    `pcietune guest libvirt vm0.json`

    `pcietune guest libvirt vm0.json | virsh define /dev/stdin`

    `pcietune guest libvirt vm0.json --fragment --first-index 12`
    """
    from pcietune.cli import show
    from pcietune.cli.planned import read_plan
    from pcietune.errors import BadInputError
    from pcietune.guest.libvirt.domain import domain_xml, fragment_xml
    from pcietune.guest.libvirt.release import check_release
    from pcietune.guest.memory_size import parse_memory
    from pcietune.guest.scaled import with_memory

    if first_index != 1 and not fragment:
        raise BadInputError(
            "--first-index is of a domain of your own", hint="say --fragment beside it"
        )
    planned = read_plan(plan)
    check_release(planned, release)
    if memory is not None:
        planned = with_memory(planned, parse_memory(memory))
    lines = fragment_xml(planned, first_index) if fragment else domain_xml(planned)
    for warning in planned.warnings:
        show.note(warning)
    show.document("\n".join(lines))
