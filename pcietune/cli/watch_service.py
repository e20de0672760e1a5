"""``pcietune watch`` as a service: signals, a clock, udev's events and the service manager."""

import time
from collections.abc import Callable

from pcietune.cli.watch_signals import wishes
from pcietune.cli.watch_telling import teller, udev_events
from pcietune.cli.watching import Surroundings, Watching
from pcietune.errors import ExitCode
from pcietune.host.notify import notify
from pcietune.host.sysfs import SysfsHost


def serve(open_host: Callable[[], SysfsHost], interval_s: float, *, as_json: bool) -> ExitCode:
    """Watch a host until a signal ends that; return the exit code which that asks for.

    Args:
        open_host: Returns the host, of which nothing was read yet.
        interval_s: How long after a look at everything the next is due at the latest.
        as_json: Whether notices go to stdout as JSON.

    Raises:
        PcietuneError: The host cannot be looked after, or udev not be listened to.
    """
    tell = teller(as_json=as_json)
    with wishes() as asked:
        watching = Watching(
            Surroundings(
                open_host=open_host,
                events=udev_events(asked.wake, tell),
                clock=time.monotonic,
                look_asked=asked.look,
                tell=tell,
                status=lambda text: notify(READY="1", STATUS=text),
            ),
            interval_s,
        )
        watching.begin()
        while asked.end is None:
            watching.turn()
        notify(STOPPING="1")
        return asked.end
