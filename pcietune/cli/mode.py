"""``pcietune mode``."""

from typing import TYPE_CHECKING, Annotated

import typer

from pcietune.cli.options import FromOption, JsonOption, Mode, ProfileOption

if TYPE_CHECKING:
    from pcietune.host.sysfs import SysfsHost
    from pcietune.model.mode_change import ModeChange
    from pcietune.model.profile import ModeName
    from pcietune.report.outcome import Outcome


def mode(
    to: Annotated[Mode, typer.Argument(metavar="vm|baremetal", help="The duty to come to.")],
    profile: ProfileOption = None,
    source: FromOption = None,
    *,
    group: Annotated[
        list[str] | None,
        typer.Option(
            "--group",
            metavar="LOCATION",
            help="Only this switch group, by the address or location of its topmost port; may be "
            "given several times.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Print the ordered steps that bring this host from one duty to the other.

    Each step is checked on the host as it is now, and after each it is said what is still open.
    Nothing is changed. Exits 3 while a step is left. Examples:

    `pcietune mode baremetal`

    `pcietune mode vm --group 0000:20:01.0/00.0`
    """
    from pcietune.cli import show
    from pcietune.cli.judging import collecting
    from pcietune.cli.progress import told
    from pcietune.errors import ExitCode
    from pcietune.host.source import open_host
    from pcietune.model.profile import ModeName
    from pcietune.report import text
    from pcietune.report.mode import mode_document, mode_lines
    from pcietune.report.outcome import Outcome

    outcome = Outcome()
    change = None
    with collecting(outcome), open_host(source) as host, told(host):
        change = _change(host, outcome, profile, ModeName(to), group or [])
    if change is not None and as_json:
        show.document(mode_document(change))
    elif not as_json:
        show.lines(text.heading(outcome))
        show.lines(() if change is None else mode_lines(change))
    codes = [error.exit_code for error in outcome.errors]
    if change is not None and not change.done:
        codes.append(ExitCode.DIFFERS)
    show.end(outcome.errors, ExitCode.of_several(codes))


def _change(
    host: "SysfsHost", outcome: "Outcome", profile: str | None, to: "ModeName", names: list[str]
) -> "ModeChange | None":
    """Return the steps; None if there is no GPU here."""
    from pcietune.cli.judging import Request, decided, describe, judge_by, recognise
    from pcietune.model.switch_group import switch_groups
    from pcietune.tune.match.roles import assign_roles
    from pcietune.tune.mode.settings import named_groups, towards
    from pcietune.tune.mode.steps import mode_steps

    describe(host, outcome)
    settings = decided(host, outcome)
    fabric = recognise(host, Request(profile), settings, outcome)
    if outcome.match is None:
        return None
    described = outcome.match.profile
    groups = named_groups(
        switch_groups(fabric, assign_roles(described, fabric, host), described), names
    )
    audited = judge_by(host, fabric, described, towards(settings, to, groups))
    return mode_steps(host, audited, settings, to, groups)
