"""When to repair what somebody keeps undoing: ever more seldom, and never for good."""

from collections.abc import Collection
from dataclasses import dataclass, field

_FREE_REPAIRS = 3  # within _WINDOW_S; then pauses begin
_WINDOW_S = 600.0
_FIRST_PAUSE_S = 60.0
_LONGEST_PAUSE_S = 3600.0
_QUIET_S = 3600.0

Want = tuple[str, str]
"""One wanted fact: a function's location and the id of the finding about it."""


@dataclass(slots=True)
class _Trouble:
    """How often one fact was repaired.

    Attributes:
        repairs: When, of the last few, in seconds.
        pause_s: How long the next repair has to wait after the last; 0 before the first pause.
        last_wrong: When it was last seen to be wrong.
    """

    repairs: list[float] = field(default_factory=list)
    pause_s: float = 0.0
    last_wrong: float = 0.0

    @property
    def until(self) -> float:
        return self.repairs[-1] + self.pause_s if self.repairs and self.pause_s else 0.0


class BackOff:
    """Counts repairs; all times are of one clock, in seconds.

    Three repairs of a fact within ten minutes are free. After the third comes a pause of a minute,
    which doubles with every further repair up to an hour. An hour in which the fact was never seen
    wrong ends it all. One that is wrong again at once is repaired eight times in the first hour,
    and later once an hour.
    """

    def __init__(self) -> None:
        self._troubles: dict[Want, _Trouble] = {}

    def may_repair(self, want: Want, now: float) -> bool:
        """Note that a fact is seen to be wrong; return whether it may be repaired now."""
        trouble = self._troubles.get(want)
        if trouble is None:
            return True
        if now - trouble.last_wrong > _QUIET_S:
            del self._troubles[want]
            return True
        trouble.last_wrong = now
        return now >= trouble.until

    def repaired(self, want: Want, now: float) -> float | None:
        """Note a repair, also one that failed; return the pause that begins, None if none does."""
        trouble = self._troubles.setdefault(want, _Trouble())
        trouble.repairs = [*trouble.repairs, now][-_FREE_REPAIRS:]
        trouble.last_wrong = now
        if trouble.pause_s:
            trouble.pause_s = min(2 * trouble.pause_s, _LONGEST_PAUSE_S)
        elif len(trouble.repairs) == _FREE_REPAIRS and now - trouble.repairs[0] <= _WINDOW_S:
            trouble.pause_s = _FIRST_PAUSE_S
        return trouble.pause_s or None

    def next_end(self, wrong: Collection[Want], now: float) -> float | None:
        """Return when the first pause of these facts ends; None if none of them has one."""
        ends = [t.until for want in wrong if (t := self._troubles.get(want)) and t.until > now]
        return min(ends, default=None)

    def keep(self, present: Collection[Want]) -> None:
        """Forget what is no fact of this host any more, so that nothing grows."""
        for want in self._troubles.keys() - set(present):
            del self._troubles[want]
