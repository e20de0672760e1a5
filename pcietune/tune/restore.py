"""Put back exactly the bits that apply changed in this boot."""

from dataclasses import dataclass, field

from pcietune.errors import BadInputError, ExitCode, InconsistentHostError, PcietuneError
from pcietune.model.access import HostAccess
from pcietune.model.function import PciFunction
from pcietune.model.undo import Outcome, UndoEntry, UndoRecord
from pcietune.registers.acs import AcsControl
from pcietune.registers.fields import MaskedWrite
from pcietune.tune.port_acs import find_acs
from pcietune.tune.vfio_use import why_in_use, why_relied_on

_EVER_WRITTEN = ~AcsControl.P2P_EGRESS_CONTROL


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
) -> Restoration:
    """Put back what the record says, last change first.

    Bits that neither read as before nor as pcietune left them were changed by somebody else since,
    and are left. So is what stands above a function in use, or isolates one that VFIO has, and
    what is no control that apply ever writes: the record is believed for those alone.
    """
    functions = {function.location: function for function in host.functions()}
    restoration = Restoration(found=record.found)
    for change in reversed(record.changes):
        if change.outcome is Outcome.UNDONE:
            continue
        port = functions.get(change.entry.location)
        if port is None or port.id != change.entry.id:
            reason = f"no {change.entry.id} is at {change.entry.location} any more"
            restoration.left.append(Left(change.entry, reason, ExitCode.DIFFERS))
            continue
        below = [function for function in functions.values() if port.address in function.ports]
        wait = None if while_in_use else why_in_use(host, below)
        no = wait or why_relied_on(host, below, _cleared_by_restoring(change.entry))
        if no is not None:
            restoration.left.append(Left(change.entry, no, ExitCode.DIFFERS))
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


def _cleared_by_restoring(entry: UndoEntry) -> AcsControl:
    """Return the controls that putting back the old value turns off."""
    return AcsControl.decode(entry.new & ~entry.old)


def _put_back(
    entry: UndoEntry, port: PciFunction, host: HostAccess, restoration: Restoration
) -> None:
    _check_is_ours(entry, port, host)
    config = host.config(port)
    back = MaskedWrite(offset=entry.offset, width=2, value=entry.old, mask=entry.mask)
    found = config.read_word_again(entry.offset)
    if back.holds_in(found):
        restoration.settled.append(entry)
        return
    if found & entry.mask != entry.new:
        reason = f"{port.address} reads {found:#06x}: somebody else changed it since"
        restoration.left.append(Left(entry, reason, ExitCode.DIFFERS))
        return
    host.write(port, back)
    readback = config.read_word_again(entry.offset)
    if readback != back.merge(found):
        raise InconsistentHostError(
            f"{port.address}: put back {back.merge(found):#06x}, but it reads {readback:#06x}",
            hint="a reboot resets the register",
        )
    restoration.restored.append(Restored(entry, port, found, readback))
    restoration.settled.append(entry)


def _check_is_ours(entry: UndoEntry, port: PciFunction, host: HostAccess) -> None:
    """Return if the entry is about controls that apply may have written.

    Raises:
        BadInputError: It is about something else, which a damaged or forged record may name.
        ConfigSpaceError: The port's ACS cannot be read.
        NotPermittedError: The kernel keeps it from this user.
    """
    acs = find_acs(host, port)
    if (
        acs is None
        or acs.dword_registers
        or entry.offset != acs.control_offset
        or entry.mask & ~_EVER_WRITTEN.value
        or (entry.old | entry.new) & ~entry.mask
    ):
        raise BadInputError(
            f"{port.address}: the undo record names mask {entry.mask:#06x} at {entry.offset:#05x},"
            " which apply never writes"
        )
