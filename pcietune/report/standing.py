"""How pcietune stands on a host, as plain lines."""

from collections.abc import Iterable

from pcietune.model.boot_guard import BootGuard
from pcietune.model.standing import Standing
from pcietune.report.outcome import Outcome


def standing(outcome: Outcome) -> Iterable[str]:
    """Yield what is enabled, what the guard knows, and what apply left in this boot."""
    stands = outcome.standing
    if stands is None:
        return
    for unit, state in stands.units.items():
        yield f"unit     {unit}: {state}"
    yield from _guard(outcome.guard)
    yield f"policy   {_policy(stands)}"


def _guard(guard: BootGuard | None) -> Iterable[str]:
    """Yield whether the guard watches over this boot; the heading says where it holds back."""
    if guard is None or guard.why_held is not None:
        return
    if guard.failed_boots is None:
        yield "guard    off: nobody noted that this boot began"
    else:
        yield f"guard    on; boots before this one that did not come up: {guard.failed_boots}"


def _policy(stands: Standing) -> str:
    if stands.policy is None:
        return "none of this boot: the udev rule does nothing until pcietune apply was run"
    may = "may write" if stands.policy.enforce else "only judges"
    if stands.policy.enforce and stands.settings_changed:
        may = "only judges until the next apply, as the settings have changed"
    count = len(stands.policy.duties)
    return f"of this boot, the udev hook {may}: {stands.stamped} of {count} functions as wanted"
