"""How a function's ATS is judged."""

from dataclasses import dataclass

from pcietune.model.finding import Remedy, State
from pcietune.model.severity import Severity
from pcietune.tune.ats.action import AtsAction


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a function's ATS is judged, and why.

    Attributes:
        state: How it is judged.
        reason: Why, in one sentence.
        remedy: What to do.
        severity: How much it matters.
        action: What apply may do about it.
    """

    state: State
    reason: str = ""
    remedy: Remedy | None = None
    severity: Severity = Severity.ERROR
    action: AtsAction | None = None
