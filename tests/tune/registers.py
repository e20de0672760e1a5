"""Of plans and records only what is about registers."""

from pcietune.model.plan import Plan, PlannedWrite
from pcietune.model.undo import RegisterChange, UndoRecord


def register_writes(plan: Plan) -> tuple[PlannedWrite, ...]:
    """Return a plan's writes of registers."""
    return tuple(write for write in plan.writes if isinstance(write, PlannedWrite))


def register_changes(record: UndoRecord) -> tuple[RegisterChange, ...]:
    """Return the recorded changes of registers."""
    entries = (change.entry for change in record.changes)
    return tuple(entry for entry in entries if isinstance(entry, RegisterChange))
