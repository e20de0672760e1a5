"""What ``pcietune firmware`` does on a live host: ask the NICs, and set what is wanted."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass

import typer

from pcietune.cli import show
from pcietune.cli.interrupts import held_back
from pcietune.cli.judging import Request, decided, describe, recognise
from pcietune.errors import ExitCode, SwitchedOffError
from pcietune.host.run.lock import locked
from pcietune.host.sysfs import SysfsHost
from pcietune.host.trust import check_tree_trusted
from pcietune.model.card import Card
from pcietune.model.fabric import Fabric
from pcietune.model.nic_firmware import FirmwareTool, NicFirmware
from pcietune.report.outcome import Outcome
from pcietune.tune.change.nic_firmware import (
    IN_FORCE,
    SET,
    ask,
    exit_codes,
    to_be_set,
    turn_on,
)
from pcietune.tune.change.nics_to_ask import nics_to_ask
from pcietune.tune.match.protect import protect
from pcietune.tune.match.roles import assign_roles

_CONSENT = ("y", "yes")


@dataclass(frozen=True, slots=True)
class Wish:
    """What the command line asked for.

    Attributes:
        profile: ``--profile``; None to match the host.
        devices: Which NICs; none means all of the profile's.
        set: Whether ATS is to be on from the next reboot on.
        yes: Whether that was agreed to already.
        wait_s: How long to wait for another pcietune, in seconds.
    """

    profile: str | None = None
    devices: Sequence[str] = ()
    set: bool = False
    yes: bool = False
    wait_s: float = 0.0


def ask_nics(
    host: SysfsHost, tool: FirmwareTool, wish: Wish, outcome: Outcome
) -> tuple[list[NicFirmware], list[ExitCode]]:
    """Return what the NICs say, after what was to be set is set, and the exit codes for that.

    Raises:
        SwitchedOffError: Something is to be set, and pcietune is switched off here.
        LockedError: Another pcietune is at work.
        BadInputError: A device is no NIC of the profile, or somebody else may write the settings.
        NoProfileError: No profile describes the host.
        KeyboardInterrupt: A signal came while a NIC was asked, which was waited for.
    """
    fabric, cards = _meant(host, wish, outcome)
    found = []
    with held_back() as interrupts:  # or the program would be killed between two writes
        for card in ask(host, fabric, cards, tool):
            show.progress(f"asked {card.function.address}")
            found.append(card)
            if interrupts.asked():
                raise KeyboardInterrupt
    codes = []
    if wish.set and _is_agreed(found, yes=wish.yes):
        found, interrupted = _set(host, fabric, found, tool, wish.wait_s)
        codes += [ExitCode.INTERRUPTED] if interrupted else []
    codes += exit_codes(found, wanted=SET if wish.set else IN_FORCE)
    return found, codes


def _meant(host: SysfsHost, wish: Wish, outcome: Outcome) -> tuple[Fabric, Sequence[Card]]:
    """Return the host's functions, and the NICs that are meant, card by card."""
    describe(host, outcome)
    if wish.set:
        if outcome.disabled is not None:
            raise SwitchedOffError(
                f"pcietune is switched off here: {outcome.disabled}",
                hint="rm /etc/pcietune/disabled, or boot without pcietune=off",
            )
        check_tree_trusted(host.root / "etc/pcietune")
    settings = decided(host, outcome)
    request = Request(wish.profile, writes=wish.set)
    fabric = recognise(host, request, settings, outcome)
    if outcome.match is None:
        return fabric, ()
    roles = assign_roles(outcome.match.profile, fabric, host)
    protection = protect(host, fabric, roles, settings.protect)
    return fabric, nics_to_ask(fabric, roles, protection, wish.devices)


def _is_agreed(found: Sequence[NicFirmware], *, yes: bool) -> bool:
    """Return whether there is something to set, and whoever typed the command wants it."""
    number = len(to_be_set(found))
    if not number or yes:
        return number > 0
    nics = "1 NIC" if number == 1 else f"{number} NICs"
    typer.echo(f"Set the firmware of {nics}, for the next reboot? [y/N] ", err=True, nl=False)
    agreed = sys.stdin.readline().strip().lower() in _CONSENT  # input() writes to stdout
    if not agreed:
        show.note("nothing was set")
    return agreed


def _set(
    host: SysfsHost,
    fabric: Fabric,
    found: Sequence[NicFirmware],
    tool: FirmwareTool,
    wait_s: float,
) -> tuple[list[NicFirmware], bool]:
    """Return what the cards say after what was due is set, and whether somebody stopped that."""

    def say_who(holder: str) -> None:
        show.note(f"waiting for {holder}")

    with (
        locked(host.files, "firmware", wait_s=wait_s, on_wait=say_who),
        held_back() as interrupts,
    ):
        done = list(turn_on(host, fabric, found, tool, interrupts.asked))
        return done, interrupts.asked()
