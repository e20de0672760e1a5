"""Put back exactly the bits that apply changed in this boot."""

from collections.abc import Callable
from dataclasses import dataclass, field

from pcietune.address import PciAddress
from pcietune.errors import ExitCode, InconsistentHostError, PcietuneError
from pcietune.model.access import HostAccess
from pcietune.model.function import PciFunction
from pcietune.model.undo import Outcome, UndoEntry, UndoRecord
from pcietune.registers.fields import MaskedWrite


@dataclass(frozen=True, slots=True)
class Restored:
    """A change that was put back.

    Attributes:
        entry: The change.
        port: Its function now.
        old: The register just before, whole.
        readback: The register just after, whole.
    """

    entry: UndoEntry
    port: PciFunction
    old: int
    readback: int


@dataclass(frozen=True, slots=True)
class Left:
    """A change that was not put back, and why."""

    entry: UndoEntry
    reason: str
    code: ExitCode


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
    settled: list[UndoEntry] = field(default_factory=list)
    left: list[Left] = field(default_factory=list)
    found: tuple[UndoEntry, ...] = ()

    def exit_code(self) -> ExitCode:
        """Return the exit code that the run asks for."""
        return ExitCode.of_several([left.code for left in self.left])


def restore(
    record: UndoRecord,
    host: HostAccess,
    *,
    while_in_use: bool,
    stop: Callable[[], bool],
) -> Restoration:
    """Put back what the record says, last change first.

    Bits that neither read as before nor as pcietune left them were changed by somebody else since,
    and are left. So is what stands above a function in use.
    """
    functions = {function.location: function for function in host.functions()}
    restoration = Restoration(found=record.found)
    for change in reversed(record.changes):
        if change.outcome is Outcome.UNDONE:
            continue
        if stop():
            restoration.left.append(Left(change.entry, "interrupted", ExitCode.INTERRUPTED))
            continue
        port = functions.get(change.entry.location)
        if port is None or port.id != change.entry.id:
            reason = f"no {change.entry.id} is at {change.entry.location} any more"
            restoration.left.append(Left(change.entry, reason, ExitCode.DIFFERS))
            continue
        users = [] if while_in_use else _users(host, port.address)
        if users:
            reason = f"in use by VFIO: {', '.join(users)}"
            restoration.left.append(Left(change.entry, reason, ExitCode.DIFFERS))
            continue
        try:
            _put_back(change.entry, port, host, restoration)
        except PcietuneError as error:
            restoration.left.append(Left(change.entry, str(error), error.exit_code))
    return restoration


def remaining(record: UndoRecord, restoration: Restoration) -> UndoRecord:
    """Return what must stay recorded: what was left, and what was set before."""
    settled = set(restoration.settled)
    changes = tuple(
        change
        for change in record.changes
        if change.outcome is not Outcome.UNDONE and change.entry not in settled
    )
    return UndoRecord(record.boot_id, changes, record.found)


def _users(host: HostAccess, port: PciAddress) -> list[str]:
    """Return the addresses of the functions below ``port`` that VFIO has in use."""
    users = []
    for function in host.functions():
        if port not in function.ports:
            continue
        try:
            if host.state(function).in_use_by_vfio:
                users.append(str(function.address))
        except PcietuneError:
            continue  # it vanished: nobody uses it
    return users


def _put_back(
    entry: UndoEntry, port: PciFunction, host: HostAccess, restoration: Restoration
) -> None:
    config = host.config(port)
    back = MaskedWrite(offset=entry.offset, width=2, value=entry.old, mask=entry.mask)
    found = config.read_again(entry.offset, 2)
    if back.holds_in(found):
        restoration.settled.append(entry)
        return
    if found & entry.mask != entry.new:
        reason = f"{port.address} reads {found:#06x}: somebody else changed it since"
        restoration.left.append(Left(entry, reason, ExitCode.DIFFERS))
        return
    host.write(port, back)
    readback = config.read_again(entry.offset, 2)
    if readback != back.merge(found):
        raise InconsistentHostError(
            f"{port.address}: put back {back.merge(found):#06x}, but it reads {readback:#06x}",
            hint="a reboot resets the register",
        )
    restoration.restored.append(Restored(entry, port, found, readback))
    restoration.settled.append(entry)
