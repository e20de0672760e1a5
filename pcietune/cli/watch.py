"""``pcietune watch``."""

from typing import Annotated

import typer

_DEFAULT_INTERVAL_S = 300.0


def watch(
    *,
    interval: Annotated[
        float,
        typer.Option(
            "--interval",
            metavar="SECONDS",
            min=1,
            max=1800,
            help="How long after a look at all ports the next one is due at the latest: no event "
            "tells of a register that changed.",
        ),
    ] = _DEFAULT_INTERVAL_S,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object per line on stdout.")
    ] = False,
) -> None:
    """Keep this host as its profile wants it: look again at every event, and say what changed.

    Writes only where /etc/pcietune/pcietune.yaml says `enforce: apply`, and never above a function
    that VFIO has in use: that waits until it is let go. Wakes nothing. SIGHUP makes it look at
    once. Runs until SIGTERM, and then exits 0. Examples:

    `pcietune watch`

    `pcietune watch --json --interval 60`
    """
    from pcietune.cli.watch_service import serve
    from pcietune.host.source import live_host

    raise typer.Exit(int(serve(live_host, interval, as_json=as_json)))
