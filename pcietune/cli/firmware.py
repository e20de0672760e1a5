"""``pcietune firmware``."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from pcietune.cli.options import DEFAULT_WAIT_S, FromOption, JsonOption, ProfileOption, WaitOption

if TYPE_CHECKING:
    from pcietune.model.nic_firmware import NicFirmware


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
    from pcietune.cli.asking import Wish, ask_nics
    from pcietune.cli.judging import collecting
    from pcietune.errors import ExitCode
    from pcietune.host.nic_firmware.tool import find_tool
    from pcietune.host.source import open_host
    from pcietune.report.firmware import FirmwareRun, firmware_document, firmware_lines
    from pcietune.report.outcome import Outcome
    from pcietune.tune.change.nics_to_ask import check_may_ask

    outcome = Outcome()
    wish = Wish(profile, tuple(device or ()), set=set_, yes=yes, wait_s=wait)
    found: list[NicFirmware] = []
    codes: list[ExitCode] = []
    asked_by = ""
    with collecting(outcome), open_host(source) as host:
        if set_ and not yes and not host.recorded:
            _check_somebody_answers()
        check_may_ask(host)
        tool = find_tool()
        asked_by = tool.path
        found, codes = ask_nics(host, tool, wish, outcome)
    codes += [error.exit_code for error in outcome.errors]
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
