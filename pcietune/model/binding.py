"""What VFIO has of a host's functions, what it is to get, and what became of that."""

from dataclasses import dataclass, field
from enum import StrEnum

from pcietune.errors import ExitCode, PcietuneError
from pcietune.model.function import PciFunction
from pcietune.model.not_known import NotKnown
from pcietune.model.role_name import RoleName


class BindState(StrEnum):
    """How a function stands to VFIO."""

    IN_USE = "in-use"  # a VM or another VFIO user has it open
    BOUND = "bound"  # a VFIO driver has it, and nobody uses it
    READY = "ready"  # nothing stands against binding it
    HALF_BOUND = "half-bound"  # so does this, and its driver_override names a VFIO driver already
    WAITING = "waiting"  # that is all that is due before the unit that the profile names
    BLOCKED = "blocked"
    FREE = "free"  # VFIO is to give it back, and has
    FAILED = "failed"  # it was tried, and undone as far as that can be


GIVEN = (BindState.IN_USE, BindState.BOUND)
"""What is left as it is: a VFIO driver has it, whichever."""

HANDED_OVER = (*GIVEN, BindState.WAITING)
"""What is as it should be where functions go to VFIO."""

HANDED_BACK = (BindState.FREE,)
"""What is as it should be where VFIO gives them back."""


@dataclass(frozen=True, slots=True)
class Binding:
    """One function, as VFIO has it or is to get it.

    Attributes:
        function: Which.
        role: None if it has none: then it is bound with another of its slot.
        wanted: Whether ``vfio.bind`` names its role, or the function was named.
        driver: What is bound to it; None if nothing is, NOT_KNOWN of a dump.
        override: What its ``driver_override`` holds; None if it is not set.
        vfio_driver: What would be bound to it.
        group: Number of its IOMMU group; None if it has none, NOT_KNOWN of a dump.
        state: How it stands to VFIO.
        why: What blocks it, or another remark; each is a phrase about the function.
        steps: What is done to give it to VFIO, or was, as commands of a shell.
    """

    function: PciFunction
    role: RoleName | None
    wanted: bool
    driver: str | NotKnown | None
    override: str | None
    vfio_driver: str
    group: int | NotKnown | None
    state: BindState
    why: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()


@dataclass(slots=True)
class Bound:
    """What a run did about VFIO.

    Attributes:
        bindings: Every function that was looked at, as it is now, by address.
        settled: What is as it should be; what was wanted and is not so differs.
        changed: Whether anything differs now because of this run.
        errors: What went wrong, and whether things are as they were found.
        interrupted: Whether it was asked to stop, and undid what it had done.
    """

    bindings: tuple[Binding, ...] = ()
    settled: tuple[BindState, ...] = HANDED_OVER
    changed: bool = False
    errors: list[PcietuneError] = field(default_factory=list)
    interrupted: bool = False

    def exit_code(self) -> ExitCode:
        """Return the exit code that the run alone asks for."""
        codes = [error.exit_code for error in self.errors]
        if self.interrupted:
            codes.append(ExitCode.INTERRUPTED)
        if any(b.wanted and b.state not in self.settled for b in self.bindings):
            codes.append(ExitCode.DIFFERS)
        return ExitCode.of_several(codes)
