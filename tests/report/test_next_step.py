from dataclasses import replace
from datetime import date
from pathlib import Path

from report.outcomes import applied, audited
from trees.function import nic
from trees.host import TreeHost
from trees.machines import one_switch
from tune.judged import NIC, NIC_PORT, judge, opened
from tune.undo_in_memory import BOOT_ID

from pcietune.errors import LockedError
from pcietune.model.settings import Waiver
from pcietune.model.undo import Outcome as ChangeOutcome
from pcietune.model.undo import UndoRecord
from pcietune.report import next_step
from pcietune.report.outcome import Outcome
from pcietune.tune.audit.waive import waive


def step(outcome: Outcome) -> str:
    (line,) = next_step.lines(outcome)
    return line.removeprefix("next     ")


def tuned(tree: TreeHost) -> TreeHost:
    applied(tree)
    return tree


def test_writes_come_next_where_writes_mend_something(tmp_path: Path) -> None:
    assert step(audited(one_switch(tmp_path))).startswith("pcietune plan --mode vm shows what")


def test_audit_comes_next_where_no_write_mends_it(tmp_path: Path) -> None:
    tree = tuned(one_switch(tmp_path, instead=[nic(NIC, below=NIC_PORT, ats=None)]))

    assert step(audited(tree)) == "pcietune audit --mode vm says what is wrong, and what mends it"


def test_a_vm_comes_next_where_the_kernel_has_to_do_something(tmp_path: Path) -> None:
    tree = tuned(one_switch(tmp_path, instead=[nic(NIC, below=NIC_PORT, ats=(0x0020, 0))]))
    tree.group_type(5, "identity")

    assert step(audited(tree)).startswith("start a VM, and audit again")


def test_nothing_comes_next_where_all_is_as_wanted(tmp_path: Path) -> None:
    assert step(audited(tuned(one_switch(tmp_path)))).startswith("nothing: ")


def test_that_something_is_waived_is_told_where_nothing_comes_next(tmp_path: Path) -> None:
    outcome = audited(one_switch(tmp_path))
    assert outcome.audit
    waiver = Waiver("port.nic-side.DirectTrans", None, "known", None, date.max)
    findings = tuple(
        waive(finding, [waiver], date(2026, 1, 1)) for finding in outcome.audit.findings
    )
    outcome.audit = replace(outcome.audit, findings=findings)

    assert step(outcome).endswith("as its profile wants it, but for what is waived")


def test_nothing_comes_next_where_only_information_cannot_be_read(tmp_path: Path) -> None:
    tree = tuned(one_switch(tmp_path))
    (tree.directory(NIC_PORT) / "power/control").unlink()

    assert step(audited(tree)).startswith("nothing: ")


def test_root_comes_next_where_only_root_may_read(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    tree.config(NIC_PORT).write_bytes(tree.config(NIC_PORT).read_bytes()[:64])

    assert step(audited(tree)) == "run it as root: registers could not be read"


def test_a_killed_apply_comes_first(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    outcome, record = applied(tree)
    begun = tuple(replace(c, outcome=ChangeOutcome.BEGUN) for c in record.changes)
    outcome.audit = judge(opened(tree), record=UndoRecord(BOOT_ID, begun))

    assert step(outcome).startswith("an apply did not end well")


def test_a_mode_comes_next_where_none_is_set(tmp_path: Path) -> None:
    outcome = audited(one_switch(tmp_path))
    outcome.audit = None

    assert step(outcome).startswith("choose a mode")


def test_nothing_is_said_where_there_is_nothing_or_an_error_says_it() -> None:
    assert list(next_step.lines(Outcome(nothing_here=True))) == []
    assert list(next_step.lines(Outcome(errors=[LockedError("busy")]))) == []


def test_where_it_is_switched_off_no_write_is_next(tmp_path: Path) -> None:
    outcome = audited(one_switch(tmp_path))
    outcome.disabled = "/etc/pcietune/disabled exists"

    assert step(outcome) == "nothing is written here while /etc/pcietune/disabled exists"
