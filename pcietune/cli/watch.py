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
    import time

    from pcietune.cli.watch_signals import wishes
    from pcietune.cli.watch_telling import teller, udev_events
    from pcietune.cli.watching import Surroundings, Watching
    from pcietune.host.notify import notify
    from pcietune.host.source import live_host

    tell = teller(as_json=as_json)
    with wishes() as asked:
        watching = Watching(
            Surroundings(
                open_host=live_host,
                events=udev_events(asked.wake, tell),
                clock=time.monotonic,
                look_asked=asked.look,
                tell=tell,
                status=lambda text: notify(READY="1", STATUS=text),
            ),
            interval,
        )
        watching.begin()
        while asked.end is None:
            watching.turn()
        notify(STOPPING="1")
    raise typer.Exit(int(asked.end))
