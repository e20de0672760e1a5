"""Set what the policy lets the hook set: recorded before, read back after, all or nothing."""

from pcietune.errors import (
    IgnoredWriteError,
    InconsistentHostError,
    NotPermittedError,
    PcietuneError,
)
from pcietune.host.hook.ports import Port, check_may_be_set
from pcietune.host.hook.undo import HookUndo
from pcietune.model.policy import HookPolicy
from pcietune.registers.fields import MaskedWrite


def repair(directory: str, policy: HookPolicy, group: str, wrong: list[Port]) -> list[str]:
    """Set what may be set of ports that are not as wanted; return what was written, for a log.

    Nothing is written unless all of them are as wanted then.

    Args:
        directory: ``/run/pcietune``, whose hooks' lock is held.
        policy: What may be set, and who may be trusted.
        group: Location of the topmost upstream port of the ports' switch group.
        wrong: The ports.

    Raises:
        InUseError: Something below keeps it from being written now.
        InconsistentHostError: Something failed, and so did undoing what was written.
        PcietuneError: It cannot be recorded, written or read; what was written is undone.
    """
    writes = []
    for port in wrong:
        word = port.word()
        write = port.write_for(word)
        if write is None or not port.duty.holds_in(write.merge(word)):
            return []
        check_may_be_set(port, write, policy.trusted)
        writes.append((port, write))
    undo = HookUndo(directory, policy.boot_id)
    made = _Writes(undo, group)
    try:
        for port, write in writes:
            made.make(port, write)
        made.keep()
    except PcietuneError as error:
        stuck = made.take_back()
        if stuck is not None:
            raise InconsistentHostError(f"{error}; undoing failed too: {stuck}") from error
        raise
    finally:
        undo.close()
    return made.lines


class _Writes:
    """Writes that were made, to be kept all or undone all.

    Attributes:
        lines: What was written, for a log.
    """

    def __init__(self, undo: HookUndo, group: str) -> None:
        self.lines: list[str] = []
        self._undo = undo
        self._group = group
        self._made: list[tuple[Port, MaskedWrite, int]] = []

    def make(self, port: Port, write: MaskedWrite) -> None:
        """Make one write, and compare what then reads.

        Raises:
            IgnoredWriteError: It reads otherwise than it should.
            PcietuneError: It cannot be recorded, written or read.
        """
        word = port.word()
        place = port.place
        function = (place.location, str(place.address), port.duty.id)
        self._undo.begin(function, self._group, write, word)
        self._made.append((port, write, word))
        port.config.write(write)
        now = port.word()
        if now != write.merge(word):
            raise IgnoredWriteError(
                f"{place.address}: wrote {write.value:#06x} under mask {write.mask:#06x} to ACSCtl "
                f"({word:#06x}), but it reads {now:#06x}"
            )
        self.lines.append(f"{place.address} ACSCtl {word:#06x} -> {now:#06x}")

    def keep(self) -> None:
        """Let it be; raises NotPermittedError if that cannot be recorded."""
        self._undo.settle(self._group, kept=True)

    def take_back(self) -> PcietuneError | None:
        """Undo all that was written, last first; return what keeps it from being undone, if any."""
        try:
            for port, write, word in reversed(self._made):
                _put_back(port, write, word)
        except PcietuneError as error:
            return error
        try:
            self._undo.settle(self._group, kept=False)
        except NotPermittedError:
            return None  # the record shows changes begun, which is true, too
        return None


def _put_back(port: Port, write: MaskedWrite, word: int) -> None:
    back = MaskedWrite(offset=write.offset, width=2, value=word & write.mask, mask=write.mask)
    if not back.holds_in(port.word()):
        port.config.write(back)
