"""When watch looks at what; all times are of one clock, in seconds."""

from pcietune.model.device_event import Heard
from pcietune.tune.watch.batch import Batch, Concern

_CHECKED_EVERY_S = 2.0
_FIRST_RETRY_S = 5.0


class Schedule:
    """Events that settled, the slow poll, looks that must be repeated, and waits for others.

    Attributes:
        waits: Whether something waits until a function is let go or a port wakes, of which no
            event tells: then that is checked every two seconds.
    """

    def __init__(self, interval_s: float, now: float) -> None:
        """Begin with a look at everything at once.

        Args:
            interval_s: How long after the last whole look the next is due at the latest.
            now: The time.
        """
        self.waits = False
        self._batch = Batch()
        self._interval_s = interval_s
        self._poll_at = now
        self._retry_at: float | None = None
        self._retry_s = _FIRST_RETRY_S
        self._check_at = now

    def hear(self, heard: Heard, now: float) -> None:
        """Take in events that came at ``now``."""
        self._batch.add(heard, now)

    def look_at_all(self, now: float) -> None:
        """Let everything be looked at next."""
        self._poll_at = now

    def sleep_s(self, now: float) -> float:
        """Return how long nothing is due."""
        check_at = self._check_at if self.waits else None
        times = (self._poll_at, self._batch.due, self._retry_at, check_at)
        return max(0.0, min(time for time in times if time is not None) - now)

    def concern(self, now: float) -> Concern | None:
        """Return what is to be looked at now; None if nothing.

        A look at everything takes along the events that have not settled yet.
        """
        whole = now >= self._poll_at or _is_due(self._retry_at, now)
        if not whole and not _is_due(self._batch.due, now):
            return None
        concern = self._batch.take()
        return Concern(concern.events, whole=True) if whole else concern

    def check_is_due(self, now: float) -> bool:
        """Return whether what others hold is to be checked now, and set the next time."""
        if not self.waits or now < self._check_at:
            return False
        self._check_at = now + _CHECKED_EVERY_S
        return True

    def looked(self, now: float, *, whole: bool, again: bool, paused_until: float | None) -> None:
        """Note a look that has ended, and when the next is due.

        Args:
            now: The time.
            whole: Whether it was at everything.
            again: Whether it must be repeated soon: something could not be read, or could not be
                locked. Each time that takes twice as long.
            paused_until: When something that is wrong may be repaired; None if nothing waits.
        """
        if whole:
            self._poll_at = now + self._interval_s
            self._retry_at = None
        if again:
            self._retry_at = now + self._retry_s
            self._retry_s = min(2 * self._retry_s, self._interval_s)
        elif whole:
            self._retry_s = _FIRST_RETRY_S
        if paused_until is not None:
            self._poll_at = min(self._poll_at, max(now, paused_until))
        self._check_at = now + _CHECKED_EVERY_S


def _is_due(time: float | None, now: float) -> bool:
    return time is not None and now >= time
