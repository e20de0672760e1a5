from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest
from trees.fabrics import two_switches
from trees.host import TreeHost
from tune.faults import (
    ACS_CONTROL,
    Fault,
    FaultyHost,
    Writer,
    all_ones,
    at_write,
    configs,
    refused,
    set_word,
    stuck,
    vanish,
    word,
)
from tune.judged import failing, judge, opened
from tune.profiles import PROFILE, rule, with_ports
from tune.registers import register_writes
from tune.undo_in_memory import MemoryUndo

from pcietune.errors import ExitCode, InconsistentHostError, RolledBackError
from pcietune.model.function import PciFunction
from pcietune.model.plan import Plan, PlannedStep
from pcietune.model.profile import Profile
from pcietune.model.undo import Outcome, RecordedChange, UndoRecord
from pcietune.registers.fields import MaskedWrite
from pcietune.tune.change.adopt import adopt, newly_found
from pcietune.tune.change.apply import Applied, apply
from pcietune.tune.change.plan import plan

FIRST, SECOND = "0000:22:04.0", "0000:22:08.0"  # the NICs' ports of the first switch group
THIRD, FOURTH = "0000:42:04.0", "0000:42:08.0"  # and of the second
ALL = [FIRST, SECOND, THIRD, FOURTH]
ONE_GROUP, OTHER_GROUP = "0000:20:01.0/00.0", "0000:40:01.0/00.0"
BY_LINUX, TUNED = 0x001D, 0x005D


@dataclass
class Run:
    """One apply: what it did, and what it recorded."""

    applied: Applied
    undo: MemoryUndo

    @property
    def exit_code(self) -> ExitCode:
        return self.applied.exit_code()

    @property
    def log(self) -> list[str]:
        """What was recorded and written, in order."""
        return self.undo.log

    def kept(self) -> list[str]:
        """Return the addresses of the ports whose writes stand."""
        return [str(done.planned.function.address) for done in self.applied.kept]


def planned(tree: TreeHost, profile: Profile = PROFILE) -> Plan:
    host = opened(tree)
    return plan(host, judge(host, profile), while_in_use=False)


def run(
    tree: TreeHost,
    fault: Fault | None = None,
    *,
    profile: Profile = PROFILE,
    undo: MemoryUndo | None = None,
    stop: Callable[[list[str]], bool] = lambda _: False,
) -> Run:
    """Plan and apply; ``stop`` is asked with the log so far."""
    undo = undo or MemoryUndo()
    host = FaultyHost(opened(tree), fault, undo.log)
    return carry_out(plan(host, judge(host, profile), while_in_use=False), host, undo, stop)


def carry_out(
    todo: Plan,
    host: FaultyHost,
    undo: MemoryUndo,
    stop: Callable[[list[str]], bool] = lambda _: False,
) -> Run:
    """Apply a plan as the command line does."""
    adopt(undo.record.unfinished, todo, host, undo)
    applied = apply(todo, host, undo, stop=lambda: stop(undo.log), progress=lambda _: None)
    return Run(applied, undo)


def after(writes: int) -> Callable[[list[str]], bool]:
    """Stop once so many writes were made."""
    return lambda log: sum(line.startswith("write") for line in log) >= writes


@pytest.fixture
def tree(tmp_path: Path) -> TreeHost:
    return two_switches(tmp_path)


def words(tree: TreeHost) -> list[int]:
    return [word(tree, address) for address in ALL]


def test_it_changes_direct_trans_of_the_nics_ports_and_no_other_byte(tree: TreeHost) -> None:
    expected = {address: bytearray(data) for address, data in configs(tree).items()}
    for address in ALL:
        expected[address][ACS_CONTROL] |= 1 << 6

    done = run(tree)

    assert configs(tree) == expected
    assert (done.kept(), done.exit_code) == (ALL, ExitCode.OK)
    assert [(d.old, d.readback, d.made) for d in done.applied.kept] == [(BY_LINUX, TUNED, True)] * 4


def test_every_change_is_recorded_before_it_is_made_and_a_group_is_settled_once(
    tree: TreeHost,
) -> None:
    assert run(tree).log == [
        f"begin {FIRST}",
        f"write {FIRST}",
        f"begin {SECOND}",
        f"write {SECOND}",
        f"settle {ONE_GROUP} kept",
        f"begin {THIRD}",
        f"write {THIRD}",
        f"begin {FOURTH}",
        f"write {FOURTH}",
        f"settle {OTHER_GROUP} kept",
    ]


def test_a_second_apply_has_nothing_to_write(tree: TreeHost) -> None:
    run(tree)

    assert planned(tree).writes == ()
    assert run(tree).log == []


def test_a_port_that_ignores_the_write_costs_its_own_group_and_no_other(tree: TreeHost) -> None:
    done = run(tree, stuck(SECOND, 1 << 6))

    assert words(tree) == [BY_LINUX, BY_LINUX, TUNED, TUNED]
    assert (done.kept(), done.exit_code) == ([THIRD, FOURTH], ExitCode.ROLLED_BACK)
    (failure,) = done.applied.failures
    assert failure.group == ONE_GROUP
    assert isinstance(failure.error, RolledBackError)
    assert str(failure.error) == (
        "0000:22:08.0: wrote 0x0040 under mask 0x0040 to ACSCtl (0x001d), but it reads 0x001d; "
        "the switch group is as it was found"
    )
    assert done.undo.outcomes() == {
        FIRST: "undone",
        SECOND: "undone",
        THIRD: "kept",
        FOURTH: "kept",
    }


def test_a_write_of_which_half_takes_is_rolled_back(tree: TreeHost) -> None:
    set_word(tree, FIRST, 0x001C)
    before = configs(tree)
    profile = with_ports(nic_side=rule(set="DirectTrans+ SrcValid+"))

    done = run(tree, stuck(FIRST, 1 << 0), profile=profile)

    assert configs(tree)[FIRST] == before[FIRST]
    assert done.exit_code == ExitCode.ROLLED_BACK
    assert done.kept() == [THIRD, FOURTH]


def test_a_write_that_changes_bits_beside_its_own_is_rolled_back(tree: TreeHost) -> None:
    before = configs(tree)

    def coupled(function: PciFunction, write: MaskedWrite, works: Writer) -> None:
        """Let bit 7 of the first port rise and fall with DirectTrans."""
        works(function, write)
        if str(function.address) == FIRST:
            set_word(tree, FIRST, word(tree, FIRST) & ~0x0080 | write.value << 1)

    done = run(tree, coupled)

    assert configs(tree)[FIRST] == before[FIRST]
    assert done.exit_code == ExitCode.ROLLED_BACK
    assert "reads 0x00dd" in str(done.applied.failures[0].error)


def test_bits_beside_its_own_that_stay_changed_are_said_to_be(tree: TreeHost) -> None:
    fault = at_write(nth=1, after=lambda: set_word(tree, FIRST, TUNED | 0x0080))

    done = run(tree, fault)

    assert word(tree, FIRST) == BY_LINUX | 0x0080
    assert done.exit_code == ExitCode.INCONSISTENT
    assert "undoing failed too: 0000:22:04.0: ACSCtl was 0x001d and reads 0x009d" in str(
        done.applied.failures[0].error
    )


def test_a_refusal_at_the_first_write_ends_the_run_and_keeps_nothing(tree: TreeHost) -> None:
    before = configs(tree)

    done = run(tree, refused(nth=1))

    assert configs(tree) == before
    assert done.exit_code == ExitCode.NOT_PERMITTED
    assert Outcome.KEPT not in done.undo.outcomes().values()
    assert sum(line.startswith("write") for line in done.log) == 1


def test_a_refusal_in_the_middle_of_a_group_is_rolled_back(tree: TreeHost) -> None:
    before = configs(tree)

    done = run(tree, refused(nth=2, until=2))

    assert configs(tree) == before
    assert done.exit_code == ExitCode.ROLLED_BACK
    (failure,) = done.applied.failures
    assert str(failure.error) == (
        "0000:22:08.0: the kernel refused; the switch group is as it was found"
    )
    assert failure.error.hint == "a hint"


def test_a_refusal_at_the_second_group_keeps_the_first(tree: TreeHost) -> None:
    done = run(tree, refused(nth=3))

    assert words(tree) == [TUNED, TUNED, BY_LINUX, BY_LINUX]
    assert (done.kept(), done.exit_code) == ([FIRST, SECOND], ExitCode.NOT_PERMITTED)


def test_a_rollback_that_the_kernel_refuses_is_said_and_stays_recorded(tree: TreeHost) -> None:
    done = run(tree, refused(nth=2))

    assert words(tree)[0] == TUNED
    assert done.exit_code == ExitCode.INCONSISTENT
    assert isinstance(done.applied.failures[0].error, InconsistentHostError)
    assert "pcietune restore" in done.applied.failures[0].error.hint
    assert done.undo.outcomes() == {FIRST: "begun", SECOND: "begun"}


def test_a_port_that_vanishes_right_before_its_write_leaves_nothing_to_undo_there(
    tree: TreeHost,
) -> None:
    done = run(tree, at_write(nth=1, before=lambda: vanish(tree, FIRST)))

    assert words_of(tree, SECOND, THIRD, FOURTH) == [BY_LINUX, TUNED, TUNED]
    assert (done.kept(), done.exit_code) == ([THIRD, FOURTH], ExitCode.UNREADABLE)
    assert done.undo.outcomes()[FIRST] == "undone"


def words_of(tree: TreeHost, *addresses: str) -> list[int]:
    return [word(tree, address) for address in addresses]


def test_a_port_that_vanishes_in_the_middle_of_a_group_rolls_the_others_back(
    tree: TreeHost,
) -> None:
    done = run(tree, at_write(nth=2, before=lambda: vanish(tree, SECOND)))

    assert words_of(tree, FIRST, THIRD, FOURTH) == [BY_LINUX, TUNED, TUNED]
    assert done.exit_code == ExitCode.ROLLED_BACK


def test_a_port_that_falls_silent_after_its_write_is_not_said_to_be_as_found(
    tree: TreeHost,
) -> None:
    done = run(tree, at_write(nth=2, after=lambda: all_ones(tree, SECOND)))

    assert words_of(tree, FIRST, THIRD, FOURTH) == [BY_LINUX, TUNED, TUNED]
    assert done.exit_code == ExitCode.INCONSISTENT
    assert "0000:22:08.0 does not answer" in str(done.applied.failures[0].error)


def test_a_port_that_falls_silent_after_the_plan_is_neither_recorded_nor_written(
    tree: TreeHost,
) -> None:
    undo = MemoryUndo()
    host = FaultyHost(opened(tree), None, undo.log)
    todo = plan(host, judge(host), while_in_use=False)
    all_ones(tree, FIRST)

    done = carry_out(todo, host, undo)

    assert done.exit_code == ExitCode.UNREADABLE
    assert not {f"begin {FIRST}", f"write {FIRST}"} & set(done.log)
    assert words_of(tree, SECOND, THIRD, FOURTH) == [BY_LINUX, TUNED, TUNED]


@pytest.mark.parametrize("writes", range(4))
def test_a_stop_before_any_write_undoes_everything(tree: TreeHost, writes: int) -> None:
    before = configs(tree)

    done = run(tree, stop=after(writes))

    assert configs(tree) == before
    assert done.applied.interrupted
    assert (done.kept(), done.exit_code) == ([], ExitCode.INTERRUPTED)


def test_a_stop_undoes_the_last_write_first(tree: TreeHost) -> None:
    done = run(tree, stop=after(3))

    undone = [line for line in done.log if line.startswith("write")][3:]
    assert undone == [f"write {THIRD}", f"write {SECOND}", f"write {FIRST}"]


def test_a_stop_whose_undoing_fails_is_said(tree: TreeHost) -> None:
    done = run(tree, refused(nth=3), stop=after(2))

    assert words(tree)[:2] == [TUNED, TUNED]
    assert done.exit_code == ExitCode.INCONSISTENT
    assert "interrupted; undoing failed" in str(done.applied.failures[0].error)


def test_a_stop_is_told_though_nothing_more_can_be_recorded(tree: TreeHost) -> None:
    before = configs(tree)
    undo = MemoryUndo()

    def stop(log: list[str]) -> bool:
        undo.full = f"write {FIRST}" in log
        return undo.full

    done = run(tree, undo=undo, stop=stop)

    assert configs(tree) == before
    assert done.exit_code == ExitCode.INTERRUPTED


def test_a_record_that_cannot_be_begun_stops_before_the_write(tree: TreeHost) -> None:
    before = configs(tree)
    undo = MemoryUndo()
    undo.full = True

    done = run(tree, undo=undo)

    assert configs(tree) == before
    assert (done.log, done.exit_code) == ([], ExitCode.NOT_PERMITTED)


@pytest.mark.parametrize("write", [1, 2])
def test_a_record_that_fills_up_in_a_group_rolls_that_group_back(
    tree: TreeHost, write: int
) -> None:
    before = configs(tree)
    undo = MemoryUndo()

    done = run(tree, at_write(nth=write, after=lambda: setattr(undo, "full", True)), undo=undo)

    assert configs(tree) == before
    assert (done.kept(), done.exit_code) == ([], ExitCode.ROLLED_BACK)


def killed_after_the_first_write(tree: TreeHost) -> UndoRecord:
    """Return the record of a run that was killed when the first port was written."""
    (first, *_) = register_writes(planned(tree))
    set_word(tree, FIRST, TUNED)
    return UndoRecord("boot", (RecordedChange(first.undo_entry(BY_LINUX), Outcome.BEGUN),))


def test_what_a_killed_run_began_is_finished_by_the_next(tree: TreeHost) -> None:
    done = run(tree, undo=MemoryUndo(killed_after_the_first_write(tree)))

    assert words(tree) == [TUNED] * 4
    assert set(done.undo.outcomes().values()) == {"kept"}
    assert done.kept() == [SECOND, THIRD, FOURTH]


def test_a_rollback_does_not_take_a_killed_runs_change_for_undone(tree: TreeHost) -> None:
    done = run(tree, stuck(SECOND, 1 << 6), undo=MemoryUndo(killed_after_the_first_write(tree)))

    assert words(tree)[:2] == [TUNED, BY_LINUX]
    assert done.undo.outcomes()[FIRST] == "kept"
    assert done.undo.outcomes()[SECOND] == "undone"


def test_what_was_begun_in_a_group_that_cannot_be_read_stays_open(tree: TreeHost) -> None:
    record = killed_after_the_first_write(tree)
    all_ones(tree, SECOND)

    assert run(tree, undo=MemoryUndo(record)).undo.outcomes()[FIRST] == "begun"


def test_what_is_found_set_is_new_unless_the_record_has_the_bit(tree: TreeHost) -> None:
    record = killed_after_the_first_write(tree)
    set_word(tree, THIRD, TUNED)

    todo = planned(tree)

    assert [str(e.address) for e in newly_found(todo, None)] == [FIRST, THIRD]
    assert [str(e.address) for e in newly_found(todo, record)] == [THIRD]
    known = UndoRecord("boot", found=todo.found)
    assert newly_found(todo, known) == []


def test_what_nobody_foresaw_leaves_no_switch_group_half_changed(tree: TreeHost) -> None:
    undo = MemoryUndo()
    host = FaultyHost(opened(tree), None, undo.log)
    todo = plan(host, judge(host), while_in_use=False)
    numbers = count(1)

    def progress(_: PlannedStep) -> None:
        if next(numbers) == 4:
            raise MemoryError

    with pytest.raises(MemoryError):
        apply(todo, host, undo, stop=lambda: False, progress=progress)

    assert words(tree) == [TUNED, TUNED, BY_LINUX, BY_LINUX]
    assert undo.outcomes() == {FIRST: "kept", SECOND: "kept", THIRD: "undone"}


def test_a_bit_that_is_lost_after_its_write_is_judged_lost(tree: TreeHost) -> None:
    undo = MemoryUndo()
    lose = at_write(nth=3, after=lambda: set_word(tree, FIRST, BY_LINUX))
    host = FaultyHost(opened(tree), lose, undo.log)

    done = carry_out(plan(host, judge(host), while_in_use=False), host, undo)

    assert done.kept() == ALL
    assert failing(judge(host)) == {("port.nic-side.DirectTrans", FIRST)}


def test_an_interrupt_records_groups_that_were_kept_before_it_as_undone(tree: TreeHost) -> None:
    done = run(tree, stop=after(3))

    assert done.exit_code == ExitCode.INTERRUPTED
    assert done.undo.outcomes() == {FIRST: "undone", SECOND: "undone", THIRD: "undone"}


def test_a_function_that_came_into_use_since_the_plan_costs_its_own_group(tree: TreeHost) -> None:
    host = FaultyHost(opened(tree), None, [])
    todo = plan(host, judge(host, PROFILE), while_in_use=False)
    nic = tree.directory("0000:25:00.0")
    (nic / "vfio-dev").mkdir()
    (nic / "enable").write_text("1\n")

    done = carry_out(todo, host, MemoryUndo())

    (failure,) = done.applied.failures
    assert failure.group == ONE_GROUP
    assert str(failure.error).startswith("0000:25:00.0 came into use by VFIO meanwhile")
    assert done.kept() == [THIRD, FOURTH]
    assert words(tree) == [BY_LINUX, BY_LINUX, TUNED, TUNED]
