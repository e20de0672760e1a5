"""What an administrator decided for one host."""

from dataclasses import dataclass
from enum import StrEnum

from pcietune.model.profile import ModeName


class Enforce(StrEnum):
    """What may be done unattended, by the boot unit and the udev hook."""

    AUDIT = "audit"  # judge, and write nothing
    APPLY = "apply"


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of one host; a typed ``pcietune apply`` writes whatever ``enforce`` says.

    Attributes:
        profile: Name of the profile to judge by; None if the host is to be matched.
        mode: The host's duty; None if nobody decided, which is never guessed.
        enforce: What may be done unattended.
    """

    profile: str | None = None
    mode: ModeName | None = None
    enforce: Enforce = Enforce.AUDIT
