"""What a run of apply records, before its first write, of what earlier runs and others did."""

from collections.abc import Sequence
from contextlib import suppress

from pcietune.errors import PcietuneError
from pcietune.model.access import HostAccess
from pcietune.model.function import PciFunction
from pcietune.model.plan import Plan
from pcietune.model.undo import Change, GroupTypeChange, RegisterChange, UndoRecord, UndoStore
from pcietune.tune.change.put_back import put_back


def adopt(unfinished: Sequence[Change], plan: Plan, host: HostAccess, undo: UndoStore) -> None:
    """Record that what a killed run had begun stands; to be called before ``apply``.

    Else a rollback would record the killed run's changes as undone, which nobody undid. Whether a
    change was made before the kill is told by the register, also to restore. What was begun in a
    group that cannot be read stays open. The type of an IOMMU group is put back first, for it was
    never to stay; where a driver is in the way that stays open, too.
    """
    functions = {function.location: function for function in host.functions()}
    unread = {name for name, _ in plan.unreadable}
    for name in dict.fromkeys(entry.group for entry in unfinished):
        switches = [e for e in unfinished if e.group == name and isinstance(e, GroupTypeChange)]
        back = [_is_back(entry, functions.get(entry.location), host) for entry in switches]
        if name not in unread and all(back):
            undo.settle(name, kept=True)


def newly_found(plan: Plan, record: UndoRecord | None) -> list[RegisterChange]:
    """Return what the plan found set and no record of this boot knows: restore must leave it."""
    if record is None:
        return list(plan.found)
    known = {
        (entry.location, entry.offset, bit)
        for entry in (*record.found, *(change.entry for change in record.changes))
        if isinstance(entry, RegisterChange)
        for bit in _bits(entry.mask)
    }
    return [e for e in plan.found if (e.location, e.offset, e.mask) not in known]


def _bits(mask: int) -> list[int]:
    return [1 << bit for bit in range(mask.bit_length()) if mask >> bit & 1]


def _is_back(entry: GroupTypeChange, function: PciFunction | None, host: HostAccess) -> bool:
    """Put a group's type back, unless somebody else changed it; return whether nothing is open."""
    if function is None or function.id != entry.id or host.recorded:
        return False
    with suppress(PcietuneError):
        put_back(entry, function, host)
        return True
    return False
