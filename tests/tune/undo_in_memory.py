"""An undo record in memory that shares its log with the host, so that order shows."""

from dataclasses import replace

from pcietune.errors import NotPermittedError
from pcietune.model.undo import Change, Outcome, RecordedChange, RegisterChange, UndoRecord

BOOT_ID = "3d1f3a2e-0c43-4a5b-9a52-2f5d7f4c8e01"


class MemoryUndo:
    """An UndoStore.

    Attributes:
        log: One line for each call, also of the host that shares it.
        record: What is recorded.
        full: Whether from now on nothing more can be recorded.
    """

    def __init__(self, record: UndoRecord | None = None) -> None:
        self.log: list[str] = []
        self.record = record or UndoRecord(BOOT_ID)
        self.full = False
        self._first_of_run = len(self.record.changes)

    def begin(self, entry: Change) -> None:
        self._keep(f"begin {entry.address}")
        changes = (*self.record.changes, RecordedChange(entry, Outcome.BEGUN))
        self.record = replace(self.record, changes=changes)

    def settle(self, group: str, *, kept: bool) -> None:
        outcome = Outcome.KEPT if kept else Outcome.UNDONE
        self._keep(f"settle {group} {outcome}")
        changes = tuple(
            replace(change, outcome=outcome)
            if change.entry.group == group
            and (change.outcome is Outcome.BEGUN if kept else number >= self._first_of_run)
            else change
            for number, change in enumerate(self.record.changes)
        )
        self.record = replace(self.record, changes=changes)

    def note_found(self, entry: RegisterChange) -> None:
        self._keep(f"found {entry.address}")
        self.record = replace(self.record, found=(*self.record.found, entry))

    def outcomes(self) -> dict[str, str]:
        """Return how the last change of each function ended, by address."""
        return {str(c.entry.address): c.outcome.value for c in self.record.changes}

    def _keep(self, line: str) -> None:
        if self.full:
            raise NotPermittedError("cannot keep the undo record: no space left on device")
        self.log.append(line)
