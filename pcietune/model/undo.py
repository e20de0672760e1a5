"""What is kept of every change, so that it can be undone: also after a kill in the middle."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from pcietune.address import PciAddress


@dataclass(frozen=True, slots=True)
class RegisterChange:
    """One masked change of one 16-bit register.

    Attributes:
        group: Location of the switch group's topmost upstream port.
        location: Of the function, which survives a renumbering of the buses.
        address: Of the function when the change was made.
        id: Vendor and Device ID: ``1000:c010``.
        offset: Of the register, in bytes from the start of Configuration Space.
        mask: The bits that the change is about.
        old: Those bits before.
        new: Those bits as wanted.
    """

    group: str
    location: str
    address: PciAddress
    id: str
    offset: int
    mask: int
    old: int
    new: int


@dataclass(frozen=True, slots=True)
class AttributeChange:
    """One change of a function's sysfs attribute.

    Attributes:
        group: As of a RegisterChange; so are location, address and id.
        attribute: Its name: ``power/control``.
        old: What it held before.
        new: What it was to hold.
    """

    group: str
    location: str
    address: PciAddress
    id: str
    attribute: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class GroupTypeChange:
    """One switch of an IOMMU group's default domain, which ends where it began.

    It belongs to no switch group's change: what it is settled with is the function alone.

    Attributes:
        group: The location of the function for whose sake it is made.
        location: The same.
        address: Of the function when the change was made.
        id: Vendor and Device ID.
        iommu_group: Number of the function's IOMMU group.
        old: The type before and after: ``identity``, ``DMA`` or ``DMA-FQ``.
        new: The type for the moment.
    """

    group: str
    location: str
    address: PciAddress
    id: str
    iommu_group: int
    old: str
    new: str


Change = RegisterChange | AttributeChange | GroupTypeChange


class Outcome(StrEnum):
    """How a recorded change ended."""

    BEGUN = "begun"  # its run never said: it is at work, was killed, or could not undo it
    KEPT = "kept"
    UNDONE = "undone"


@dataclass(frozen=True, slots=True)
class RecordedChange:
    """A change and how it ended."""

    entry: Change
    outcome: Outcome

    @property
    def stands(self) -> bool:
        """Whether there may be something to put back.

        A switch of a group's type never stays: once it is said to have ended it has gone back.
        """
        if isinstance(self.entry, GroupTypeChange):
            return self.outcome is Outcome.BEGUN
        return self.outcome is not Outcome.UNDONE


@dataclass(frozen=True, slots=True)
class UndoRecord:
    """All that was recorded on this host.

    Attributes:
        boot_id: Of the boot whose changes these are.
        changes: In the order in which they were begun.
        found: Wanted bits that were set before pcietune first wrote anything in that boot.
    """

    boot_id: str
    changes: tuple[RecordedChange, ...] = ()
    found: tuple[RegisterChange, ...] = ()

    @property
    def unfinished(self) -> tuple[Change, ...]:
        """Changes whose run has not said how they ended."""
        return tuple(c.entry for c in self.changes if c.outcome is Outcome.BEGUN)


class UndoStore(Protocol):
    """Where changes are recorded; each call has reached the disk when it returns.

    Every method raises NotPermittedError where the record cannot be kept.
    """

    def begin(self, entry: Change) -> None:
        """Record a change that is about to be made."""

    def settle(self, group: str, *, kept: bool) -> None:
        """Record how changes of a switch group ended.

        Kept: all that had not ended yet. Else all that were begun through this store, also those
        that it had said were kept.
        """

    def note_found(self, entry: RegisterChange) -> None:
        """Record wanted bits that were already set, which restore must leave."""
