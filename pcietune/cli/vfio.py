"""``pcietune vfio``: who has a host's functions, and how VFIO gets them or gives them back."""

from typing import TYPE_CHECKING, Annotated

import typer

from pcietune.cli import before_start, wait_ats
from pcietune.cli.options import (
    DEFAULT_WAIT_S,
    FromOption,
    JsonOption,
    Mode,
    ModeOption,
    ProfileOption,
    UnattendedOption,
    WaitOption,
)

if TYPE_CHECKING:
    from pcietune.cli.binding import Wish

app = typer.Typer(
    help="Look at what VFIO has, give it functions by address, and take them back.",
    no_args_is_help=True,
)
app.command("before-start")(before_start.before_start)
app.command("wait-ats")(wait_ats.wait_ats)

_Addresses = Annotated[
    list[str] | None,
    typer.Argument(metavar="[ADDRESS...]", help="Functions, each by address or location."),
]
_All = Annotated[bool, typer.Option("--all", help="All GPUs, NICs, NVSwitches of the profile.")]
_DryRun = Annotated[
    bool,
    typer.Option("--dry-run", help="Print what would be done; do nothing."),
]


@app.command("show")
def show_bindings(
    addresses: _Addresses = None,
    profile: ProfileOption = None,
    mode: ModeOption = None,
    source: FromOption = None,
    *,
    as_json: JsonOption = False,
) -> None:
    """Show driver, override and IOMMU group of what VMs may get, and what keeps it from VFIO.

    Reads, and writes nothing; exits 0 whatever the functions are. Examples:

    `pcietune vfio show`

    `pcietune vfio show 0000:41:00.0 --json`
    """
    from pcietune.cli.binding import look

    look(_wish(addresses, profile, mode, everything=False, as_json=as_json), source)


@app.command("bind")
def bind_functions(  # noqa: PLR0913 -- one parameter per option
    addresses: _Addresses = None,
    profile: ProfileOption = None,
    mode: ModeOption = None,
    source: FromOption = None,
    *,
    everything: _All = False,
    unattended: UnattendedOption = False,
    dry_run: _DryRun = False,
    wait: WaitOption = DEFAULT_WAIT_S,
    as_json: JsonOption = False,
) -> None:
    """Give functions to VFIO, each only if all is as the profile wants it and nothing holds it.

    Without an address: those whose role `vfio: {bind: [...]}` names. Functions of a slot and of an
    IOMMU group go together or not at all. Exits 0 if VFIO has them, 3 if something keeps one from
    it. Examples:

    `pcietune vfio bind 0000:41:00.0`

    `pcietune vfio bind --all --dry-run`
    """
    from pcietune.cli.binding import give

    wish = _wish(addresses, profile, mode, everything=everything, as_json=as_json)
    give(wish, source, unattended=unattended, dry_run=dry_run, wait_s=wait)


@app.command("unbind")
def unbind_functions(  # noqa: PLR0913 -- one parameter per option
    addresses: _Addresses = None,
    profile: ProfileOption = None,
    mode: ModeOption = None,
    source: FromOption = None,
    *,
    everything: _All = False,
    dry_run: _DryRun = False,
    wait: WaitOption = DEFAULT_WAIT_S,
    as_json: JsonOption = False,
) -> None:
    """Take functions from VFIO, unless a VM uses them, and let their own drivers have them.

    Exits 0 if VFIO has none of them any more, 3 if something keeps one. Examples:

    `pcietune vfio unbind 0000:41:00.0`

    `pcietune vfio unbind --all`
    """
    from pcietune.cli.binding import take_back

    wish = _wish(addresses, profile, mode, everything=everything, as_json=as_json)
    take_back(wish, source, dry_run=dry_run, wait_s=wait)


def _wish(
    addresses: list[str] | None,
    profile: str | None,
    mode: Mode | None,
    *,
    everything: bool,
    as_json: bool,
) -> "Wish":
    from pcietune.cli.binding import Wish
    from pcietune.model.profile import ModeName

    typed = None if mode is None else ModeName(mode)
    return Wish(addresses or [], everything, profile, typed, as_json)
