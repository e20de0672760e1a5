"""Make one change of a plan, compare what then reads, and put it back."""

from contextlib import suppress

from pcietune.errors import ConfigSpaceError, IgnoredWriteError, PcietuneError
from pcietune.model.access import HostAccess
from pcietune.model.done import AttributeDone, Done, WriteDone
from pcietune.model.plan import PlannedAttribute, PlannedChange, PlannedWrite
from pcietune.model.undo import UndoStore
from pcietune.registers.fields import MaskedWrite
from pcietune.tune.vfio_use import check_not_given, check_unused


def begin(planned: PlannedChange, host: HostAccess, undo: UndoStore) -> Done:
    """Record a change that is about to be made, with what reads now.

    Raises:
        PcietuneError: It cannot be read or recorded, or must wait by now; nothing was written.
    """
    if isinstance(planned, PlannedAttribute):
        text = _read_attribute(planned, host)
        undo.begin(planned.undo_entry(text))
        return AttributeDone(planned, text)
    check_unused(host, planned.watched)
    if planned.unbound:
        check_not_given(host, planned.function)
    word = _read_word(planned, host)
    undo.begin(planned.undo_entry(word))
    return WriteDone(planned, word)


def make(done: Done, host: HostAccess) -> None:
    """Make a change that was begun, and compare all that then reads.

    Raises:
        IgnoredWriteError: It reads otherwise than it should.
        PcietuneError: It could not be written or read.
    """
    if isinstance(done, AttributeDone):
        _make_attribute(done, host)
    else:
        _make_write(done, host)


def put_back(done: Done, host: HostAccess) -> str | None:
    """Put a change back; return what then reads otherwise than before, None if nothing.

    Raises:
        PcietuneError: It could not be put back.
    """
    if isinstance(done, AttributeDone):
        before, now = done.old, _put_attribute_back(done, host)
    else:
        before, now = f"{done.old:#06x}", f"{_put_bits_back(done, host):#06x}"
    planned = done.planned
    if now == before:
        return None
    return f"{planned.function.address}: {planned.register} was {before} and reads {now}"


def read_again(done: Done, host: HostAccess) -> None:
    """Let what is judged next be what holds now, not what read back when it was written."""
    with suppress(PcietuneError):  # who judges it meets that, too
        if isinstance(done, AttributeDone):
            _read_attribute(done.planned, host)
        else:
            _read_word(done.planned, host)


def _make_write(done: WriteDone, host: HostAccess) -> None:
    planned = done.planned
    host.write(planned.function, planned.write)
    done.made = True
    done.readback = _read_word(planned, host)
    if done.readback != planned.write.merge(done.old):
        raise IgnoredWriteError(
            f"{planned.function.address}: wrote {planned.write.value:#06x} under mask "
            f"{planned.write.mask:#06x} to {planned.register} ({done.old:#06x}), but it reads "
            f"{done.readback:#06x}",
            hint="the bits may be read-only on this function, or firmware may hold them",
        )


def _make_attribute(done: AttributeDone, host: HostAccess) -> None:
    planned = done.planned
    host.write_attribute(planned.function, planned.register, planned.new)
    done.made = True
    done.readback = _read_attribute(planned, host)
    if done.readback != planned.new:
        raise IgnoredWriteError(
            f"{planned.function.address}: wrote {planned.new} to {planned.register}, but it reads "
            f"{done.readback}"
        )


def _put_bits_back(done: WriteDone, host: HostAccess) -> int:
    """Put back one write's bits; return the whole word then."""
    planned, change = done.planned, done.planned.write
    try:
        found = _read_word(planned, host)
    except PcietuneError:
        if done.made:
            raise
        return done.old  # the kernel had not taken the write: nothing is to be put back
    back = MaskedWrite(
        offset=change.offset, width=change.width, value=done.old & change.mask, mask=change.mask
    )
    if back.holds_in(found):
        return found
    host.write(planned.function, back)
    return _read_word(planned, host)


def _put_attribute_back(done: AttributeDone, host: HostAccess) -> str:
    """Put back one attribute; return what it holds then."""
    planned = done.planned
    try:
        found = _read_attribute(planned, host)
    except ConfigSpaceError:
        if done.made:
            raise
        return done.old
    if found == done.old:
        return found
    host.write_attribute(planned.function, planned.register, done.old)
    return _read_attribute(planned, host)


def _read_word(planned: PlannedWrite, host: HostAccess) -> int:
    return host.config(planned.function).read_word_again(planned.write.offset)


def _read_attribute(planned: PlannedAttribute, host: HostAccess) -> str:
    text = host.attribute_again(planned.function, planned.register)
    if text is None:
        raise ConfigSpaceError(f"{planned.function.address}: {planned.register} cannot be read")
    return text
