"""What watch tells once, while it lasts."""

from collections.abc import Callable, Sequence

from pcietune.cli.examining import Examined
from pcietune.errors import LockedError, PcietuneError
from pcietune.model.plan import Plan
from pcietune.tune.watch.notice import Notice, NoticeKind
from pcietune.tune.watch.repairs import deferred


class TellsOnce:
    """Tells what is new of it, and remembers what still holds."""

    def __init__(self, tell: Callable[[Notice], None]) -> None:
        self._tell = tell
        self._troubles: frozenset[str] = frozenset()
        self._deferred: frozenset[str] = frozenset()
        self._watching: str | None = None

    def troubles(self, errors: Sequence[PcietuneError]) -> None:
        """Tell what keeps the host from being judged or repaired, and when that has ended."""
        texts = {str(error): error for error in errors}
        for text, error in texts.items():
            if text not in self._troubles:
                advice = "it is tried again" if isinstance(error, LockedError) else error.hint
                said = f"{text}; {advice}" if advice else text
                self._tell(Notice(NoticeKind.TROUBLE, said))
        if self._troubles and not texts:
            mended = "what kept this host from being looked after is mended"
            self._tell(Notice(NoticeKind.REMARK, mended))
        self._troubles = frozenset(texts)

    def deferred(self, plan: Plan, *, whole: bool) -> None:
        """Tell what waits; ``whole`` says whether the plan is about all switch groups."""
        notices = {notice.text: notice for notice in deferred(plan.deferred)}
        for text in notices.keys() - self._deferred:
            self._tell(notices[text])
        kept = frozenset() if whole else self._deferred
        self._deferred = kept | frozenset(notices)

    def watching(self, found: Examined) -> None:
        """Tell how the host is judged, where that is not as it was."""
        text = _watching(found)
        if text is not None and text != self._watching:
            self._tell(Notice(NoticeKind.WATCHING, text))
        self._watching = text

    def status(self, found: Examined) -> str:
        """Return in a few words how things are."""
        return (
            f"{len(found.failing)} findings failed, {len(found.unread)} could not be judged, "
            f"{len(self._deferred)} steps wait"
        )


def _watching(found: Examined) -> str | None:
    """Return in one line what is watched, and whether anything is written.

    None where the host cannot be judged, of which an error tells.
    """
    outcome = found.outcome
    audited = outcome.audit
    if audited is None:
        return "no GPU is here" if outcome.nothing_here else None
    if outcome.disabled is not None:
        does = f"nothing is written: switched off, {outcome.disabled}"
    elif found.may_write:
        does = "what the profile may set is repaired"
    elif outcome.guard is not None and outcome.guard.why_held is not None:
        does = f"nothing is written: {outcome.guard.why_held}"
    else:
        does = "nothing is written: enforce is audit"
    count = len(audited.groups)
    return (
        f"watching {count} switch group{'' if count == 1 else 's'} by profile "
        f"{audited.profile.name}, mode {audited.mode}: {does}"
    )
