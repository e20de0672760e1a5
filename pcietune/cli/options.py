"""Options that several commands share."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Mode(StrEnum):
    """The two duties of a GPU server, as typed."""

    VM = "vm"
    BAREMETAL = "baremetal"


ProfileOption = Annotated[
    str | None,
    typer.Option(
        "--profile",
        metavar="NAME|FILE",
        help="Judge by this profile instead of the one that matches the host.",
    ),
]
ModeOption = Annotated[
    Mode | None,
    typer.Option(
        "--mode", help="The host's duty; the default is `mode` in /etc/pcietune/pcietune.yaml."
    ),
]
FromOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--from",
        metavar="FILE|DIR",
        readable=False,  # whether it is, we say ourselves, with an exit code that tells it
        help="Look at a recorded host instead of this machine: an archive of `pcietune record`, or"
        " what `lspci -D -xxxx` printed, with further --from for the rest of the same host.",
    ),
]
JsonOption = Annotated[
    bool, typer.Option("--json", help="Print one JSON document instead of text.")
]
StrictOption = Annotated[
    bool, typer.Option("--strict", help="Let a pending finding count as a difference, too.")
]
PassesOption = Annotated[bool, typer.Option("--passes", help="List what is as wanted, too.")]
WhileInUseOption = Annotated[
    bool,
    typer.Option(
        "--while-in-use",
        help="Write above functions that VFIO has in use: their packets may overtake each other.",
    ),
]
ForceAtsOption = Annotated[
    bool,
    typer.Option(
        "--force-ats",
        help="Where the profile says `ats: force`: set ATS Enable behind the kernel's back, which "
        "risks stale translations and faults.",
    ),
]
ToOption = Annotated[
    Path | None,
    typer.Option(
        "--to",
        metavar="FILE",
        readable=False,
        help="With --from: the archive to write the result to.",
    ),
]
InPlaceOption = Annotated[
    bool, typer.Option("--in-place", help="With --from: write the result back to the recording.")
]
UnattendedOption = Annotated[
    bool,
    typer.Option(
        "--unattended",
        help="Obey `enforce` of /etc/pcietune/pcietune.yaml, as the boot unit does: under `audit` "
        "judge and write to no device.",
    ),
]
DEFAULT_WAIT_S = 10.0
WaitOption = Annotated[
    float,
    typer.Option(
        "--wait", metavar="SECONDS", min=0, help="How long to wait for another pcietune to finish."
    ),
]
PlanArgument = Annotated[
    Path,
    typer.Argument(
        metavar="PLAN",
        readable=False,  # whether it is, we say ourselves, with an exit code that tells it
        help="The file that `pcietune guest plan -o FILE` wrote, or - for standard input.",
    ),
]
MemoryOption = Annotated[
    str | None,
    typer.Option(
        "--memory",
        metavar="SIZE",
        help="Give the VM this much memory instead of what was planned, such as 64G; its NUMA nodes"
        " share it out as they share the planned.",
    ),
]
VmFunctionsArgument = Annotated[
    list[str] | None,
    typer.Argument(metavar="[ADDRESS...]", help="The VM's functions, each by address or location."),
]
VmPlanOption = Annotated[
    Path | None,
    typer.Option(
        "--plan",
        metavar="PLAN",
        readable=False,
        help="The functions of this plan, which `pcietune guest plan -o FILE` wrote.",
    ),
]
DomainOption = Annotated[
    Path | None,
    typer.Option(
        "--domain",
        metavar="FILE",
        readable=False,
        help="The host's functions in this XML of libvirt's, as virsh dumpxml prints it; - is"
        " standard input.",
    ),
]
