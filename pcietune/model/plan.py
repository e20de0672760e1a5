"""The masked writes that turn writable failing findings into passes."""

from dataclasses import dataclass

from pcietune.errors import PcietuneError
from pcietune.model.function import PciFunction
from pcietune.model.undo import UndoEntry
from pcietune.registers.fields import MaskedWrite


@dataclass(frozen=True, slots=True)
class PlannedWrite:
    """One masked write of one port's ACS Control.

    Attributes:
        group: Location of the switch group's topmost upstream port.
        port: The port.
        register: Name of the register, as lspci has it.
        old: The whole word, as read.
        write: The change.
        wants: The controls in lspci's spelling: ``DirectTrans+``.
        finding_ids: The findings that it turns into passes.
        watched: The functions below, none of which may be in use by VFIO when it is made.
    """

    group: str
    port: PciFunction
    register: str
    old: int
    write: MaskedWrite
    wants: tuple[str, ...]
    finding_ids: tuple[str, ...]
    watched: tuple[PciFunction, ...] = ()

    @property
    def new(self) -> int:
        """The whole word after the write."""
        return self.write.merge(self.old)

    def undo_entry(self, old: int) -> UndoEntry:
        """Return what must be recorded before the write; ``old`` is the word read just now."""
        return UndoEntry(
            group=self.group,
            location=self.port.location,
            address=self.port.address,
            id=self.port.id,
            offset=self.write.offset,
            mask=self.write.mask,
            old=old & self.write.mask,
            new=self.write.value,
        )


@dataclass(frozen=True, slots=True)
class HeldBack:
    """A wanted write that is not made in this run.

    Attributes:
        planned: The write.
        reason: Why not, in one sentence.
    """

    planned: PlannedWrite
    reason: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What apply would do.

    Attributes:
        writes: In the order in which they are made, switch group by switch group.
        deferred: Writes that wait until a function is no longer in use.
        refused: Writes that pcietune will not make.
        unreadable: Switch groups that are not begun, since something in them could not be read.
        found: What is set already and pcietune did not set: restore must leave it.
    """

    writes: tuple[PlannedWrite, ...] = ()
    deferred: tuple[HeldBack, ...] = ()
    refused: tuple[HeldBack, ...] = ()
    unreadable: tuple[tuple[str, str], ...] = ()
    found: tuple[UndoEntry, ...] = ()


@dataclass(slots=True)
class WriteDone:
    """A write that was begun.

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


@dataclass(frozen=True, slots=True)
class GroupFailure:
    """A switch group whose change failed.

    Attributes:
        group: Its name.
        error: What went wrong, and whether the group is as it was found.
    """

    group: str
    error: PcietuneError
