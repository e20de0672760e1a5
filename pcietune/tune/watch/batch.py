"""Events that belong together, so that a storm of them is looked at once."""

from dataclasses import dataclass

from pcietune.model.device_event import Action, DeviceEvent, Heard

_SETTLED_S = 1.0  # after the last event
_LONGEST_S = 5.0  # after the first, however many follow
_MOST = 4096  # events that differ; beyond that all is looked at, and why is not told in detail


@dataclass(frozen=True, slots=True)
class Concern:
    """What is to be looked at, and for what reason.

    Attributes:
        events: What happened; each kind once for each function.
        whole: Whether functions came or went, or may have: then the fabric is not what it was.
    """

    events: tuple[DeviceEvent, ...] = ()
    whole: bool = False


class Batch:
    """Gathers events until they have settled; its size is bounded. Times are in seconds."""

    def __init__(self) -> None:
        self._events: dict[DeviceEvent, None] = {}
        self._lost = False
        self._first: float | None = None
        self._last = 0.0

    @property
    def due(self) -> float | None:
        """When it is to be taken; None while it is empty."""
        if self._first is None:
            return None
        return min(self._last + _SETTLED_S, self._first + _LONGEST_S)

    def add(self, heard: Heard, now: float) -> None:
        """Take in what came at ``now``."""
        if not heard.events and not heard.lost:
            return
        self._first = now if self._first is None else self._first
        self._last = now
        self._lost |= heard.lost
        self._events |= dict.fromkeys(heard.events)
        if len(self._events) > _MOST:
            self._events.clear()
            self._lost = True

    def take(self) -> Concern:
        """Return what was gathered, and begin anew."""
        events = tuple(self._events)
        comes_or_goes = any(event.action in (Action.ADD, Action.REMOVE) for event in events)
        concern = Concern(events, whole=self._lost or comes_or_goes)
        self._events, self._lost, self._first = {}, False, None
        return concern
