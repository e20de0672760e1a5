"""Put back exactly what apply changed in this boot."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pcietune.errors import ExitCode, PcietuneError
from pcietune.model.access import HostAccess
from pcietune.model.function import PciFunction
from pcietune.model.undo import Change, RegisterChange, UndoRecord
from pcietune.registers.acs import AcsControl
from pcietune.tune.change.put_back import Left, Restored, put_back
from pcietune.tune.vfio_use import why_in_use, why_relied_on


@dataclass(slots=True)
class Restoration:
    """What a run of restore did.

    Attributes:
        restored: What was put back.
        settled: Changes that need nothing more: put back, or found as they were before.
        left: What was not put back.
        found: Bits that were set before pcietune first wrote in this boot: left, and named.
    """

    restored: list[Restored] = field(default_factory=list)
    settled: list[Change] = field(default_factory=list)
    left: list[Left] = field(default_factory=list)
    found: tuple[RegisterChange, ...] = ()

    def exit_code(self) -> ExitCode:
        """Return the exit code that the run asks for."""
        return ExitCode.of_several([left.code for left in self.left])


def restore(
    record: UndoRecord,
    host: HostAccess,
    *,
    while_in_use: bool,
) -> Restoration:
    """Put back what the record says, last change first.

    Bits that neither read as before nor as pcietune left them were changed by somebody else since,
    and are left. So is what stands above a function in use, or isolates one that VFIO has, and
    what is nothing that apply ever writes: the record is believed for that alone.
    """
    functions = {function.location: function for function in host.functions()}
    restoration = Restoration(found=record.found)
    for change in reversed(record.changes):
        if not change.stands:
            continue
        entry = change.entry
        no = _why_left(entry, functions, host, while_in_use=while_in_use)
        if no is not None:
            restoration.left.append(Left(entry, no, ExitCode.DIFFERS))
            continue
        try:
            _note(entry, put_back(entry, functions[entry.location], host), restoration)
        except PcietuneError as error:
            restoration.left.append(Left(entry, str(error), error.exit_code))
    return restoration


def remaining(record: UndoRecord, restoration: Restoration) -> UndoRecord:
    """Return what must stay recorded: what was left, and what was set before."""
    settled = set(restoration.settled)
    changes = tuple(
        change for change in record.changes if change.stands and change.entry not in settled
    )
    return UndoRecord(record.boot_id, changes, record.found)


def _note(entry: Change, back: Restored | Left | None, restoration: Restoration) -> None:
    if isinstance(back, Left):
        restoration.left.append(back)
        return
    if back is not None:
        restoration.restored.append(back)
    restoration.settled.append(entry)


def _why_left(
    entry: Change, functions: Mapping[str, PciFunction], host: HostAccess, *, while_in_use: bool
) -> str | None:
    """Return why a change is not put back now; None if it may be."""
    function = functions.get(entry.location)
    if function is None or function.id != entry.id:
        return f"no {entry.id} is at {entry.location} any more"
    if not isinstance(entry, RegisterChange):
        return None  # no route changes with it; the kernel itself knows who uses a group
    below = [f for f in functions.values() if function.address in f.ports]
    if not function.is_pci_bridge:
        return _why_ats_stays(function)
    wait = None if while_in_use else why_in_use(host, below)
    return wait or why_relied_on(host, below, _cleared_by_restoring(entry))


def _why_ats_stays(function: PciFunction) -> str | None:
    """Return why a forced ATS Enable is not cleared: the kernel may count on it by now."""
    if function.driver is None:
        return None
    return f"{function.address} is bound to {function.driver}: unbind it first"


def _cleared_by_restoring(entry: RegisterChange) -> AcsControl:
    """Return the controls that putting back the old value turns off."""
    return AcsControl.decode(entry.new & ~entry.old)
