"""``pcietune firmware``."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from pcietune.cli.options import DEFAULT_WAIT_S, FromOption, JsonOption, ProfileOption, WaitOption

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pcietune.host.nic_firmware.tool import ConfigTool
    from pcietune.host.sysfs import SysfsHost
    from pcietune.model.card import Card
    from pcietune.model.fabric import Fabric
    from pcietune.model.nic_firmware import NicFirmware
    from pcietune.report.outcome import Outcome


def firmware(  # noqa: PLR0913 -- one parameter per option
    profile: ProfileOption = None,
    source: FromOption = None,
    *,
    device: Annotated[
        list[str] | None,
        typer.Option(
            "--device", metavar="ADDRESS", help="Only this NIC; may be given several times."
        ),
    ] = None,
    set_: Annotated[
        bool, typer.Option("--set", help="Have ATS on from the next reboot, after a question.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="With --set: do not ask.")] = False,
    wait: WaitOption = DEFAULT_WAIT_S,
    as_json: JsonOption = False,
) -> None:
    """Ask the profile's NICs by mstconfig or mlxconfig whether their firmware has ATS on.

    Those programs write to a NIC to speak with it, so one that VFIO uses is passed over, and no
    unit or hook does this. Exits 0 if ATS is on in all of them (with --set: from the next reboot
    on), 3 while a step is due. Examples:

    `pcietune firmware`

    `pcietune firmware --set --device 0000:24:00.0`
    """
    from pcietune.cli import show
    from pcietune.cli.judging import collecting
    from pcietune.errors import ExitCode
    from pcietune.host.nic_firmware.tool import find_tool
    from pcietune.host.source import open_host
    from pcietune.report.firmware import FirmwareRun, firmware_document, firmware_lines
    from pcietune.report.outcome import Outcome
    from pcietune.tune.change.nic_firmware import IN_FORCE, SET, ask, exit_codes
    from pcietune.tune.change.nics_to_ask import check_may_ask

    outcome = Outcome()
    found: list[NicFirmware] = []
    asked_by = ""
    interrupted = False
    with collecting(outcome), open_host(source) as host:
        check_may_ask(host)
        if set_ and not yes:
            _check_somebody_answers()
        tool = find_tool()
        asked_by = tool.path
        fabric, cards = _meant(host, outcome, profile, device or [], writes=set_)
        for card in ask(host, fabric, cards, tool):
            show.progress(f"asked {card.function.address}")
            found.append(card)
        if set_ and _agreed(found, yes=yes):
            found, interrupted = _set(host, fabric, found, tool, wait)
    codes = [error.exit_code for error in outcome.errors]
    codes += exit_codes(found, wanted=SET if set_ else IN_FORCE)
    codes += [ExitCode.INTERRUPTED] if interrupted else []
    run = FirmwareRun(
        tool=asked_by or None,
        cards=found,
        disabled=outcome.disabled,
        errors=[str(error) for error in outcome.errors],
        exit_code=ExitCode.of_several(codes),
    )
    if as_json:
        show.document(firmware_document(run))
    else:
        show.lines(firmware_lines(run))
    show.end(outcome.errors, run.exit_code)


def _check_somebody_answers() -> None:
    """Do nothing if a question can be asked.

    Raises:
        BadInputError: Stdin is no terminal, as in a timer.
    """
    from pcietune.errors import BadInputError

    if not sys.stdin.isatty():
        raise BadInputError(
            "--set asks before it writes to firmware, and nobody is there to answer",
            hint="add --yes, but never in a timer or at boot",
        )


def _meant(
    host: "SysfsHost",
    outcome: "Outcome",
    profile: str | None,
    devices: "Sequence[str]",
    *,
    writes: bool,
) -> "tuple[Fabric, Sequence[Card]]":
    """Return the host's functions, and the NICs that are meant, card by card.

    Raises:
        SwitchedOffError: Something is to be set, and pcietune is switched off here.
        BadInputError: A device is no NIC of the profile, or somebody else may write the settings.
        NoProfileError: No profile describes the host.
    """
    from pcietune.cli.judging import Request, decided, describe, recognise
    from pcietune.errors import SwitchedOffError
    from pcietune.host.trust import check_tree_trusted
    from pcietune.tune.change.nics_to_ask import nics_to_ask
    from pcietune.tune.match.protect import protect
    from pcietune.tune.match.roles import assign_roles

    describe(host, outcome)
    if writes:
        if outcome.disabled is not None:
            raise SwitchedOffError(
                f"pcietune is switched off here: {outcome.disabled}",
                hint="rm /etc/pcietune/disabled, or boot without pcietune=off",
            )
        check_tree_trusted(host.root / "etc/pcietune")
    settings = decided(host, outcome)
    fabric = recognise(host, Request(profile, writes=writes), settings, outcome)
    if outcome.match is None:
        return fabric, ()
    roles = assign_roles(outcome.match.profile, fabric, host)
    protection = protect(host, fabric, roles, settings.protect)
    return fabric, nics_to_ask(fabric, roles, protection, devices)


def _agreed(found: "Sequence[NicFirmware]", *, yes: bool) -> bool:
    """Return whether there is something to set, and whoever typed the command wants it."""
    from pcietune.cli import show
    from pcietune.tune.change.nic_firmware import to_be_set

    number = len(to_be_set(found))
    if not number or yes:
        return number > 0
    nics = "1 NIC" if number == 1 else f"{number} NICs"
    agreed = typer.confirm(f"Set the firmware of {nics}, for the next reboot?", err=True)
    if not agreed:
        show.note("nothing was set")
    return agreed


def _set(
    host: "SysfsHost",
    fabric: "Fabric",
    found: "Sequence[NicFirmware]",
    tool: "ConfigTool",
    wait_s: float,
) -> "tuple[list[NicFirmware], bool]":
    """Return what the cards say after what was due is set, and whether somebody stopped that."""
    from pcietune.cli import show
    from pcietune.cli.interrupts import held_back
    from pcietune.host.run.lock import locked
    from pcietune.tune.change.nic_firmware import turn_on

    def say_who(holder: str) -> None:
        show.note(f"waiting for {holder}")

    with (
        locked(host.files, "firmware", wait_s=wait_s, on_wait=say_who),
        held_back() as interrupts,
    ):
        done = list(turn_on(host, fabric, found, tool, interrupts.asked))
        return done, interrupts.asked()
