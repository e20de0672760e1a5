"""Apply a plan: all writes of a switch group or none of them."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import groupby

from pcietune.errors import (
    ExitCode,
    IgnoredWriteError,
    InconsistentHostError,
    NotPermittedError,
    PcietuneError,
    RolledBackError,
)
from pcietune.model.access import HostAccess
from pcietune.model.plan import GroupFailure, Plan, PlannedWrite, WriteDone
from pcietune.model.undo import UndoEntry, UndoRecord, UndoStore
from pcietune.registers.fields import MaskedWrite
from pcietune.tune.vfio_use import check_unused


@dataclass(slots=True)
class Applied:
    """What a run of apply did.

    Attributes:
        kept: Writes that stand.
        failures: Switch groups that could not be changed.
        interrupted: Whether it was asked to stop, and undid all it had done.
    """

    kept: list[WriteDone] = field(default_factory=list)
    failures: list[GroupFailure] = field(default_factory=list)
    interrupted: bool = False

    def exit_code(self) -> ExitCode:
        """Return the exit code that the run alone asks for."""
        codes = [failure.error.exit_code for failure in self.failures]
        if self.interrupted:
            codes.append(ExitCode.INTERRUPTED)
        return ExitCode.of_several(codes)


def apply(
    plan: Plan,
    host: HostAccess,
    undo: UndoStore,
    *,
    stop: Callable[[], bool],
    progress: Callable[[PlannedWrite], None],
) -> Applied:
    """Make the plan's writes, one switch group after the other.

    A group in which a write fails is rolled back and the next one is begun; but a refusal by the
    kernel or an undo record that cannot be kept would meet every group, so it ends the run.

    Args:
        plan: What to do.
        host: Where.
        undo: Has recorded each change before it is made.
        stop: Asked before each write whether to stop; then everything of this run is undone.
        progress: Told of each write before it is made.
    """
    applied = Applied()
    for name, writes in groupby(plan.writes, key=lambda planned: planned.group):
        begun: list[WriteDone] = []
        try:
            for planned in writes:
                if stop():
                    break
                progress(planned)
                _make(planned, host, undo, begun)
            if not stop():
                undo.settle(name, kept=True)
        except PcietuneError as error:
            applied.failures.append(GroupFailure(name, _roll_back(begun, host, undo, name, error)))
            if isinstance(error, NotPermittedError):
                break
            continue
        except BaseException:  # a bug, or no memory left: no reason to leave half a group behind
            if not _undo(begun, host):
                undo.settle(name, kept=False)
            raise
        if stop():
            applied.interrupted = True
            _undo_all(applied, begun, host, undo)
            break
        applied.kept += begun
    _read_again(applied.kept, host)
    return applied


def adopt(unfinished: Sequence[UndoEntry], plan: Plan, undo: UndoStore) -> None:
    """Record that what a killed run had begun stands; to be called before ``apply``.

    Else a rollback would record the killed run's changes as undone, which nobody undid. Whether a
    change was made before the kill is told by the register, also to restore. What was begun in a
    group that cannot be read stays open.
    """
    unread = {name for name, _ in plan.unreadable}
    for name in dict.fromkeys(entry.group for entry in unfinished):
        if name not in unread:
            undo.settle(name, kept=True)


def newly_found(plan: Plan, record: UndoRecord | None) -> list[UndoEntry]:
    """Return what the plan found set and no record of this boot knows: restore must leave it."""
    if record is None:
        return list(plan.found)
    known = {
        (entry.location, entry.offset, bit)
        for entry in (*record.found, *(change.entry for change in record.changes))
        for bit in _bits(entry.mask)
    }
    return [e for e in plan.found if (e.location, e.offset, e.mask) not in known]


def _bits(mask: int) -> list[int]:
    return [1 << bit for bit in range(mask.bit_length()) if mask >> bit & 1]


def _make(planned: PlannedWrite, host: HostAccess, undo: UndoStore, begun: list[WriteDone]) -> None:
    """Make one write and compare what the register then reads, the bits beside it included."""
    check_unused(host, planned.watched)
    config = host.config(planned.port)
    old = config.read_word_again(planned.write.offset)
    undo.begin(planned.undo_entry(old))
    done = WriteDone(planned, old)
    begun.append(done)
    host.write(planned.port, planned.write)
    done.made = True
    done.readback = config.read_word_again(planned.write.offset)
    if done.readback != planned.write.merge(old):
        raise IgnoredWriteError(
            f"{planned.port.address}: wrote {planned.write.value:#06x} under mask "
            f"{planned.write.mask:#06x} to {planned.register} ({old:#06x}), but it reads "
            f"{done.readback:#06x}",
            hint="the bits may be read-only on this port, or firmware may hold them",
        )


def _read_again(kept: list[WriteDone], host: HostAccess) -> None:
    """Let what is judged next be what holds now, not what each read back when it was written."""
    for done in kept:
        with suppress(PcietuneError):  # who judges the port meets that, too
            host.config(done.planned.port).read_word_again(done.planned.write.offset)


def _roll_back(
    begun: list[WriteDone], host: HostAccess, undo: UndoStore, name: str, error: PcietuneError
) -> PcietuneError:
    """Undo a group's writes and return the error to tell: with how that went."""
    stuck = _undo(begun, host)
    if stuck:
        return InconsistentHostError(
            f"{error}; undoing failed too: {'; '.join(stuck)}",
            hint="pcietune restore tries again; a reboot resets the registers",
        )
    with suppress(NotPermittedError):  # then the record shows changes begun, which is true too
        undo.settle(name, kept=False)
    if not any(done.made for done in begun):
        return error
    return RolledBackError(f"{error}; the switch group is as it was found", hint=error.hint)


def _undo_all(applied: Applied, begun: list[WriteDone], host: HostAccess, undo: UndoStore) -> None:
    """Undo everything of this run, last first."""
    done = [*applied.kept, *begun]
    applied.kept.clear()
    stuck = _undo(done, host)
    if stuck:
        error = InconsistentHostError(
            f"interrupted; undoing failed: {'; '.join(stuck)}",
            hint="pcietune restore tries again; a reboot resets the registers",
        )
        applied.failures.append(GroupFailure(done[-1].planned.group, error))
        return
    with suppress(NotPermittedError):  # as in _roll_back
        for name in dict.fromkeys(write.planned.group for write in done):
            undo.settle(name, kept=False)


def _undo(done: list[WriteDone], host: HostAccess) -> list[str]:
    """Put back every write, last first; return what could not be put back."""
    stuck = []
    for write in reversed(done):
        planned = write.planned
        try:
            found = _put_back(write, host)
        except PcietuneError as failure:
            stuck.append(str(failure))
            continue
        if found != write.old:
            stuck.append(
                f"{planned.port.address}: {planned.register} was {write.old:#06x} and reads "
                f"{found:#06x}"
            )
    return stuck


def _put_back(write: WriteDone, host: HostAccess) -> int:
    """Put back one write's bits; return the whole word then."""
    change = write.planned.write
    config = host.config(write.planned.port)
    try:
        found = config.read_word_again(change.offset)
    except PcietuneError:
        if write.made:
            raise
        return write.old  # the kernel had not taken the write: nothing is to be put back
    back = MaskedWrite(
        offset=change.offset, width=change.width, value=write.old & change.mask, mask=change.mask
    )
    if back.holds_in(found):
        return found
    host.write(write.planned.port, back)
    return config.read_word_again(change.offset)
