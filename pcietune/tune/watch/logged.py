"""Recovery from errors as the kernel logged it: its events may be lost, or not be sent."""

from collections.abc import Sequence

from pcietune.model.device_event import Action, DeviceEvent, ErrorEvent
from pcietune.model.kernel_log import LogEventKind, LogLine
from pcietune.tune.audit.kernel_log import read_log

_RECOVERY = {
    LogEventKind.CONTAINED: ErrorEvent.BEGUN,
    LogEventKind.LINK_RESET: ErrorEvent.BEGUN,
    LogEventKind.RECOVERED: ErrorEvent.SUCCEEDED,
    LogEventKind.NOT_RECOVERED: ErrorEvent.FAILED,
}


class KernelLog:
    """Tells what is new in the kernel's log from one look to the next.

    Its lines are compared with each other alone: their clock runs by itself
    (kernel/printk/printk.c, local_clock), apart from all that user space has.
    """

    def __init__(self) -> None:
        self._last_us: int | None = None

    def new_events(self, log: Sequence[LogLine] | None) -> tuple[DeviceEvent, ...]:
        """Return what the lines since the last call tell of recovery, as udev would.

        The first call returns nothing, and neither does a log that is not readable.
        """
        if not log:
            return ()
        since_us, self._last_us = self._last_us, log[-1].at_us
        if since_us is None:
            return ()
        return tuple(
            DeviceEvent(event.address, Action.CHANGE, _RECOVERY[event.kind])
            for event in read_log([line for line in log if line.at_us > since_us])
            if event.address is not None and event.kind in _RECOVERY
        )
