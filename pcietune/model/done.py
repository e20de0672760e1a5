"""What was done of a plan, and how it went."""

from dataclasses import dataclass

from pcietune.errors import PcietuneError
from pcietune.model.plan import PlannedAttribute, PlannedSwitch, PlannedWrite


@dataclass(slots=True)
class WriteDone:
    """A write of a register that was begun.

    Attributes:
        planned: What was to be done.
        old: The word just before.
        made: Whether the kernel took the write.
        readback: The word just after; None if it was not read.
    """

    planned: PlannedWrite
    old: int
    made: bool = False
    readback: int | None = None


@dataclass(slots=True)
class AttributeDone:
    """A write of an attribute that was begun; as a WriteDone."""

    planned: PlannedAttribute
    old: str
    made: bool = False
    readback: str | None = None


Done = WriteDone | AttributeDone


@dataclass(frozen=True, slots=True)
class SwitchDone:
    """A group's type that was switched and put back.

    Attributes:
        planned: What was to be done.
        enabled: Whether the kernel was seen to set ATS Enable.
        readback: The type afterwards.
    """

    planned: PlannedSwitch
    enabled: bool
    readback: str

    @property
    def healed(self) -> bool:
        """Whether ATS Enable is on because of it."""
        return self.enabled and not self.planned.proves


@dataclass(frozen=True, slots=True)
class GroupFailure:
    """A switch group whose change failed.

    Attributes:
        group: Its name.
        error: What went wrong, and whether the group is as it was found.
    """

    group: str
    error: PcietuneError
