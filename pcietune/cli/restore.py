"""``pcietune restore``."""

from contextlib import ExitStack
from typing import TYPE_CHECKING

from pcietune.cli.options import (
    DEFAULT_WAIT_S,
    FromOption,
    InPlaceOption,
    JsonOption,
    ToOption,
    WaitOption,
    WhileInUseOption,
)

if TYPE_CHECKING:
    from pcietune.host.sysfs import SysfsHost
    from pcietune.report.outcome import Outcome


def restore(  # noqa: PLR0913 -- one parameter per option
    source: FromOption = None,
    to: ToOption = None,
    *,
    in_place: InPlaceOption = False,
    while_in_use: WhileInUseOption = False,
    wait: WaitOption = DEFAULT_WAIT_S,
    as_json: JsonOption = False,
) -> None:
    """Put back exactly the bits that apply changed in this boot.

    Bits that were set before, or that somebody else changed since, are left and named.
    Works also where pcietune is switched off. The udev hook does nothing from then on, until the
    next apply. Exits 0 if nothing of it is left to put back, else
    3. Example:

    `pcietune restore`
    """
    from pcietune.cli.judging import collecting
    from pcietune.cli.report import print_outcome
    from pcietune.cli.writing import writable_host
    from pcietune.report import text, writes_text
    from pcietune.report.outcome import Outcome

    outcome = Outcome(tells_channels=as_json)
    with ExitStack() as until_it_is_told:
        with (
            collecting(outcome),
            writable_host(source, to, in_place=in_place, command="restore", wait_s=wait) as host,
        ):
            _restore(host, outcome, until_it_is_told, while_in_use=while_in_use)
        print_outcome(
            outcome,
            outcome.exit_code(),
            as_json=as_json,
            sections=(text.heading(outcome), writes_text.restored(outcome)),
        )


def _restore(
    host: "SysfsHost", outcome: "Outcome", until_it_is_told: ExitStack, *, while_in_use: bool
) -> None:
    from pcietune.cli.interrupts import held_back
    from pcietune.cli.judging import describe, this_boot
    from pcietune.errors import BadInputError
    from pcietune.host.run.keep_policy import forget_policy
    from pcietune.host.run.undo_log import UndoLog, read_undo_record
    from pcietune.model.undo import UndoRecord
    from pcietune.tune.change import restore as restoring
    from pcietune.tune.change.channels import check_registers

    describe(host, outcome)
    boot_id = this_boot(host)
    record = read_undo_record(host.files)
    if record is not None and record.boot_id != boot_id:
        raise BadInputError(
            f"the undo record is of another boot ({record.boot_id}, this one is {boot_id}): "
            "what it says of the registers need not be true any more",
            hint="compare with pcietune audit; the next apply begins a new record",
        )
    forget_policy(host.files)  # or the hook would set again what is put back here
    if record is None:
        outcome.restoration = restoring.restore(
            UndoRecord(boot_id), host, while_in_use=while_in_use
        )
        return
    check_registers(host)
    until_it_is_told.enter_context(held_back())  # a half restored host is what nobody asked for
    with UndoLog.open(host.files, boot_id) as undo:
        outcome.restoration = restoring.restore(record, host, while_in_use=while_in_use)
        undo.replace(restoring.remaining(record, outcome.restoration))
