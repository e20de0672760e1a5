"""What a finding means, whatever was found."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a finding means.

    Attributes:
        id: Of the finding.
        what: What is judged.
        why: Why that matters.
        evidence: Where it is read from, and who says what it means.
        remedy: What to do where it is not as wanted.
    """

    id: str
    what: str
    why: str
    evidence: str
    remedy: str
