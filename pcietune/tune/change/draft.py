"""A step of a plan in the making."""

from dataclasses import dataclass

from pcietune.model.plan import PlannedStep


@dataclass(frozen=True, slots=True)
class Draft:
    """A step that would turn a finding into a pass, and what keeps apply from it, if anything.

    Attributes:
        planned: The step.
        beyond: Why only a live kernel can take it.
        refused: Why pcietune does not take it.
        deferred: Why it must wait.
    """

    planned: PlannedStep
    beyond: str | None = None
    refused: str | None = None
    deferred: str | None = None
