"""``pcietune audit``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pcietune.cli.options import (
    FromOption,
    JsonOption,
    ModeOption,
    PassesOption,
    ProfileOption,
    StrictOption,
)

if TYPE_CHECKING:
    from pcietune.model.selection import Selection

_Patterns = list[str] | None


def audit(  # noqa: PLR0913 -- one parameter per option
    profile: ProfileOption = None,
    mode: ModeOption = None,
    source: FromOption = None,
    *,
    only: Annotated[
        _Patterns,
        typer.Option(
            "--only",
            metavar="ID",
            help="Ask for these findings only; an ID may be a pattern such as 'port.*'.",
        ),
    ] = None,
    skip: Annotated[
        _Patterns, typer.Option("--skip", metavar="ID", help="Do not ask for these findings.")
    ] = None,
    device: Annotated[
        _Patterns,
        typer.Option(
            "--device",
            metavar="ADDRESS",
            help="Ask only for what is about this function and the ports above it; a location "
            "does, too.",
        ),
    ] = None,
    junit: Annotated[
        Path | None,
        typer.Option(
            "--junit",
            metavar="FILE",
            readable=False,
            help="Write the findings as a JUnit file, too.",
        ),
    ] = None,
    textfile: Annotated[
        Path | None,
        typer.Option(
            "--textfile",
            metavar="FILE.prom",
            readable=False,
            help="Write counts, and the addresses of what fails, as metrics for node_exporter's "
            "textfile collector, too.",
        ),
    ] = None,
    journal: Annotated[
        bool,
        typer.Option(
            "--journal",
            help="Write an entry for each finding that fails to systemd's journal, too; without "
            "one, a line on stderr.",
        ),
    ] = False,
    strict: StrictOption = False,
    passes: PassesOption = False,
    notes: Annotated[
        bool, typer.Option("--notes", help="Tell all of what is only for information.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Say what on this host is not as its profile wants it; exit 3 if anything is not.

    Reads, and writes nothing. What --only, --skip and --device leave out does not count; each may
    be given several times. `pcietune explain` lists the IDs. Examples:

    `pcietune audit --mode vm`

    `pcietune audit --only 'port.*' --device 0000:41:00.0 --junit audit.xml`

    `pcietune audit --from host.tar --mode vm --json`
    """
    from pcietune.cli import audit_results, show
    from pcietune.cli.judging import Request, collecting, judge
    from pcietune.cli.progress import told
    from pcietune.cli.report import print_outcome
    from pcietune.host.source import open_host
    from pcietune.model.profile import ModeName
    from pcietune.report import findings_text, text
    from pcietune.report.outcome import Outcome
    from pcietune.tune.audit.select import nothing_is_asked

    outcome = Outcome(strict=strict, tells_channels=as_json)
    places = audit_results.Places(junit, textfile, journal)
    checked = False
    with collecting(outcome):
        audit_results.check(places, recorded=bool(source))
        checked = True
        selection = _selection(only or [], skip or [], device or [])
        typed = None if mode is None else ModeName(mode)
        with open_host(source) as host, told(host):
            judge(host, Request(profile, typed, selection=selection), outcome)
    if outcome.audit is not None and nothing_is_asked(outcome.audit.findings):
        show.note("--only, --skip and --device leave nothing that could be asked of this host")
    if checked:
        with collecting(outcome):
            audit_results.write_junit(places, outcome)
        with collecting(outcome):
            audit_results.write_metrics(places, outcome)
        if journal:
            from pcietune.host.journal import JOURNAL

            audit_results.tell_journal(outcome, JOURNAL)
    print_outcome(
        outcome,
        outcome.exit_code(),
        as_json=as_json,
        sections=(
            text.heading(outcome),
            findings_text.findings(outcome, passes=passes, notes=notes),
        ),
    )


def _selection(only: list[str], skip: list[str], devices: list[str]) -> "Selection":
    """Return what is asked for.

    Raises:
        BadInputError: There is no finding of an id.
    """
    from pcietune.cli.finding_ids import chosen
    from pcietune.host.explanation_files import shipped_explanations
    from pcietune.model.selection import Selection

    if only or skip:
        chosen([*only, *skip], list(shipped_explanations()))
    return Selection(tuple(only), tuple(skip), tuple(devices))
