"""A word of a kernel command line that does not do what it seems to say."""

from dataclasses import dataclass

from pcietune.model.severity import Severity


@dataclass(frozen=True, slots=True)
class Lint:
    """A word that misleads.

    Attributes:
        token: The word, or the part of it that does.
        severity: INFO where it does nothing, and WARNING where somebody relies on it.
        reason: Why, in one sentence.
        instead: What to write, or to do.
    """

    token: str
    severity: Severity
    reason: str
    instead: str
