"""``pcietune guest plan``."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from pcietune.cli.options import FromOption, JsonOption, ModeOption, ProfileOption
from pcietune.guest.kinds import Firmware, NvSwitchModel
from pcietune.guest.wish import Expanders, Layout


class Switch(StrEnum):
    """Whether something is on, as typed."""

    OFF = "off"
    ON = "on"


def plan(  # noqa: PLR0913 -- one parameter per option
    profile: ProfileOption = None,
    mode: ModeOption = None,
    source: FromOption = None,
    *,
    gpus: Annotated[
        int | None, typer.Option("--gpus", metavar="N", min=1, help="How many GPUs it gets.")
    ] = None,
    functions: Annotated[
        list[str] | None,
        typer.Option(
            "--function",
            metavar="A",
            help="Instead: a GPU, NIC, VF or NVSwitch that it gets, by address or location; may be"
            " given several times.",
        ),
    ] = None,
    nics: Annotated[
        int | None,
        typer.Option(
            "--nics", metavar="N", min=0, help="How many NICs; by default its GPUs' share."
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            "--name",
            metavar="NAME",
            help="The VM's name; by default vm0, or the next that is not taken.",
        ),
    ] = None,
    cpus: Annotated[
        int | None,
        typer.Option(
            "--cpus",
            metavar="N",
            min=1,
            help="How many CPUs; by default its GPUs' share of those of their NUMA nodes.",
        ),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(
            "--memory",
            metavar="SIZE",
            help="How much memory, such as 64G; by default its GPUs' share of their NUMA nodes'.",
        ),
    ] = None,
    hugepages: Annotated[
        str,
        typer.Option(
            "--hugepages", metavar="SIZE", help="Hugepages that hold its memory: 1G, 2M or none."
        ),
    ] = "none",
    layout: Annotated[
        Layout,
        typer.Option(
            "--layout", help="A switch for each of the host's, or a root port for each function."
        ),
    ] = Layout.SWITCHES,
    expanders: Annotated[
        Expanders,
        typer.Option("--expanders", help="A root bus for each NUMA node or switch group."),
    ] = Expanders.NODE,
    firmware: Annotated[
        Firmware,
        typer.Option("--firmware", help="The firmware that starts it, and numbers its buses."),
    ] = Firmware.OVMF,
    qemu: Annotated[
        str, typer.Option("--qemu", metavar="VERSION", help="The oldest QEMU that is to run it.")
    ] = "7.2",
    iommufd: Annotated[
        bool, typer.Option("--iommufd", help="Have VFIO map its memory by iommufd.")
    ] = False,
    clique: Annotated[
        bool,
        typer.Option(
            "--clique",
            help="Vouch for tested peer-to-peer between its GPUs, which NVIDIA's driver believes.",
        ),
    ] = False,
    allow_failing: Annotated[
        bool, typer.Option("--allow-failing", help="Give functions whose audit fails, too.")
    ] = False,
    share_switches: Annotated[
        bool,
        typer.Option("--share-switches", help="Let it share a switch with other tenants' VMs."),
    ] = False,
    nvswitch: Annotated[
        NvSwitchModel | None,
        typer.Option("--nvswitch", help="Who has the NVSwitches; by default as vfio.fabric says."),
    ] = None,
    modules: Annotated[
        Path | None,
        typer.Option(
            "--modules",
            metavar="FILE",
            readable=False,  # whether it is, we say ourselves, with an exit code that tells it
            help="Module ids by hand, a line for each GPU: `0000:23:00.0: 1`.",
        ),
    ] = None,
    mig: Annotated[
        Switch | None, typer.Option("--mig", help="Whether MIG is on, which PCI does not tell.")
    ] = None,
    confidential: Annotated[
        Switch | None,
        typer.Option(
            "--confidential",
            help="Whether confidential computing is on, which PCI does not tell.",
        ),
    ] = None,
    taken: Annotated[
        list[Path] | None,
        typer.Option(
            "--taken",
            metavar="PLAN",
            readable=False,
            help="The plan of another VM of this host, whose functions and CPUs are not free; may"
            " be given several times.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            readable=False,
            help="Write the plan to this file, from which the other guest commands take it.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Choose GPUs and NICs for a VM, and lay out where it will see them.

    Takes what is free, passes the audit, and is near to each other, and breaks up as little as it
    can for the next VM; says why. Reads, and writes nothing but the plan. Exits 4 if the host
    cannot give what is asked for, with what it can. Examples:

    `pcietune guest plan --gpus 2 -o vm0.json`

    `pcietune guest plan --gpus 1 --taken vm0.json --memory 64G --hugepages 1G --json`

    `pcietune guest plan --function 0000:23:00.0 --function 0000:25:00.1`
    """
    from pcietune.cli.planning_a_vm import Asked, plan_a_vm
    from pcietune.cli.typed_wish import Typed
    from pcietune.model.profile import ModeName

    asked = Asked(
        source=source,
        profile=profile,
        mode=None if mode is None else ModeName(mode),
        output=output,
        as_json=as_json,
    )
    typed = Typed(
        gpus=gpus,
        functions=tuple(functions or ()),
        nics=nics,
        name=name,
        cpus=cpus,
        memory=memory,
        hugepages=hugepages,
        layout=layout,
        expanders=expanders,
        firmware=firmware,
        qemu=qemu,
        iommufd=iommufd,
        clique=clique,
        allow_failing=allow_failing,
        share_switches=share_switches,
        nvswitch=nvswitch,
        modules=modules,
        mig=None if mig is None else mig is Switch.ON,
        confidential=None if confidential is None else confidential is Switch.ON,
        taken=tuple(taken or ()),
    )
    plan_a_vm(asked, typed)
