"""What apply and watch do once there is a plan: record, write, read back, judge again."""

from collections.abc import Callable, Sequence

from pcietune.cli.judging import look_again, record_of_this_boot, this_boot
from pcietune.cli.remembering import keep_trials
from pcietune.host.run.undo_log import UndoLog
from pcietune.host.sysfs import SysfsHost
from pcietune.model.plan import Plan, PlannedStep
from pcietune.model.undo import Change, RegisterChange
from pcietune.report.outcome import Outcome
from pcietune.tune.audit.audit import Audit
from pcietune.tune.change import apply as applying
from pcietune.tune.change.adopt import adopt, newly_found


class Changing:
    """A plan for a host that is locked, about to be carried out.

    Attributes:
        needed: Whether anything is to be written or recorded.
    """

    def __init__(self, host: SysfsHost, audited: Audit, plan: Plan) -> None:
        """Look at the undo record.

        Raises:
            PcietuneError: It cannot be read or believed.
        """
        record = record_of_this_boot(host)
        self._host, self._audited, self._plan = host, audited, plan
        self._found: Sequence[RegisterChange] = newly_found(plan, record)
        self._unfinished: Sequence[Change] = () if record is None else record.unfinished
        self.needed = bool(plan.steps or self._found or self._unfinished)

    def carry_out(
        self,
        outcome: Outcome,
        *,
        stop: Callable[[], bool],
        progress: Callable[[PlannedStep], None],
    ) -> None:
        """Take the steps, and fill in what was done and how the host is judged then.

        Raises:
            PcietuneError: What is to be changed cannot be recorded; nothing was written.
        """
        host = self._host
        boot_id = this_boot(host)
        with UndoLog.open(host.files, boot_id) as undo:
            for entry in self._found:
                undo.note_found(entry)
            adopt(self._unfinished, self._plan, host, undo)
            outcome.applied = applying.apply(self._plan, host, undo, stop=stop, progress=progress)
        keep_trials(host, boot_id, outcome.applied)
        outcome.audit = look_again(host, self._audited, outcome.applied.trials)
