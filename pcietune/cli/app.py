"""The command line: its commands, and the one place where errors end."""

import sys
from collections.abc import Sequence
from io import TextIOWrapper
from typing import Annotated

import typer

from pcietune import __version__
from pcietune.cli import (
    apply,
    audit,
    diff,
    explain,
    firmware,
    groups,
    guest,
    html_report,
    kernel_args,
    mode,
    paths,
    plan,
    profile,
    record,
    restore,
    schema,
    show,
    status,
    topo,
    udev_rules,
    vfio,
    watch,
)
from pcietune.cli.interrupts import all_alike_from_now_on, ignored_from_now_on
from pcietune.errors import ExitCode, PcietuneError

_EPILOG = (
    "Exit codes: 0 as wanted, 3 differs, 4 bad input, 5 not permitted, 6 not readable, "
    "7 rolled back, 8 inconsistent, 9 no profile, 10 locked, 11 switched off, 130 interrupted."
)

app = typer.Typer(
    name="pcietune",
    help="Tune and audit PCIe ACS and ATS on GPU servers.",
    epilog=_EPILOG,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)
app.command()(status.status)
app.command()(audit.audit)
app.command()(plan.plan)
app.command()(apply.apply)
app.command()(restore.restore)
app.command()(watch.watch)
app.command()(mode.mode)
app.command()(kernel_args.kernel_args)
app.command()(firmware.firmware)
app.command()(topo.topo)
app.command()(groups.groups)
app.command()(paths.paths)
app.command()(diff.diff)
app.command()(html_report.report)
app.command()(record.record)
app.command(name="udev-rules")(udev_rules.udev_rules)
app.command()(explain.explain)
app.command()(schema.schema)
app.add_typer(profile.app, name="profile")
app.add_typer(vfio.app, name="vfio")
app.add_typer(guest.app, name="guest")


def _print_version(wanted: bool) -> None:  # noqa: FBT001 -- a callback's signature
    if wanted:
        typer.echo(f"pcietune {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    *,
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Tune and audit PCIe ACS and ATS on GPU servers.

    Start with `pcietune status`.
    """


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: the one place where errors end."""
    try:
        app(args=None if arguments is None else list(arguments), prog_name="pcietune")
    except PcietuneError as error:
        show.error(error)
        return int(error.exit_code)
    except KeyboardInterrupt:
        return int(ExitCode.INTERRUPTED)
    except SystemExit as stop:  # how Typer ends, well or badly
        return stop.code if isinstance(stop.code, int) else 0
    return int(ExitCode.OK)


def main() -> None:
    """Run the command line as a process; what the locale cannot print is escaped."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    all_alike_from_now_on()
    code = run()
    ignored_from_now_on()
    sys.exit(code)
