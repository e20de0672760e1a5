"""What apply does with the type of a NIC's IOMMU group, and what is left of it whatever happens."""

from dataclasses import replace
from pathlib import Path

import pytest
from trees.host import TreeHost
from tune.faults import all_ones, configs, word
from tune.idle_nics import ENSURE, NIC_GROUP, NIC_LOCATION, SWITCH_GROUP, ats_word, idle, type_of
from tune.judged import NIC, NIC_PORT, finding, surveyed
from tune.live_kernel import LiveKernel, busy
from tune.undo_in_memory import MemoryUndo

from pcietune.address import PciAddress
from pcietune.errors import ConfigSpaceError, ExitCode, InUseError
from pcietune.model.finding import Finding, State
from pcietune.model.profile import ModeName
from pcietune.model.undo import GroupTypeChange, Outcome, RecordedChange, UndoRecord
from pcietune.model.yardstick import Yardstick
from pcietune.tune.audit.audit import Audit, audit
from pcietune.tune.audit.memory import Memory
from pcietune.tune.change.adopt import adopt
from pcietune.tune.change.apply import Applied, apply
from pcietune.tune.change.plan import plan
from pcietune.tune.change.restore import Restoration, remaining, restore

BY_LINUX, TUNED = 0x001D, 0x005D


def look(host: LiveKernel, memory: Memory) -> Audit:
    return audit(host, surveyed(host, ENSURE), Yardstick(ENSURE, ModeName.VM), memory)


def run(host: LiveKernel, undo: MemoryUndo, *, stop_after: str = "never") -> Applied:
    """Audit, plan and apply as the command line does; stop once the log has that line."""
    todo = plan(host, look(host, Memory(undo.record)), while_in_use=False)
    adopt(undo.record.unfinished, todo, host, undo)
    return apply(todo, host, undo, stop=lambda: stop_after in undo.log, progress=lambda _: None)


def live(tree: TreeHost) -> tuple[LiveKernel, MemoryUndo]:
    undo = MemoryUndo()
    return LiveKernel(tree, undo.log), undo


def nic_ats(host: LiveKernel, applied: Applied) -> Finding:
    """Return how the NIC's ATS is judged after a run."""
    return finding(look(host, Memory(trials=applied.trials)), "nic.ats", NIC)


def test_a_proof_switches_to_dma_and_back_and_records_before_it_does(tmp_path: Path) -> None:
    tree = idle(tmp_path)
    host, undo = live(tree)

    applied = run(host, undo)

    assert undo.log[-4:] == [
        f"begin {NIC}",
        f"type of group {NIC_GROUP}: DMA",
        f"type of group {NIC_GROUP}: identity",
        f"settle {NIC_LOCATION} undone",
    ]
    assert undo.log[:3] == [f"begin {NIC_PORT}", f"write {NIC_PORT}", f"settle {SWITCH_GROUP} kept"]
    assert (type_of(tree), ats_word(tree)) == ("identity", 0)
    assert applied.exit_code() == ExitCode.OK


def test_what_was_proved_passes_in_this_boot_and_is_not_proved_again(tmp_path: Path) -> None:
    host, undo = live(idle(tmp_path))
    before = nic_ats(host, Applied())

    applied = run(host, undo)

    assert (before.state, nic_ats(host, applied).state) == (State.PENDING, State.PASS)
    again = plan(host, look(host, Memory(trials=applied.trials)), while_in_use=False)
    assert again.steps == ()


def test_where_enable_stays_off_the_type_is_put_back_and_the_finding_fails(tmp_path: Path) -> None:
    tree = idle(tmp_path)
    host, undo = live(tree)
    host.ats = False

    applied = run(host, undo)

    found = nic_ats(host, applied)
    assert (type_of(tree), found.state) == ("identity", State.FAIL)
    assert "ATS Enable stayed off" in found.reason
    assert found.remedy is not None
    assert "firmware's setup" in found.remedy.command


@pytest.mark.parametrize("domain", ["DMA", "DMA-FQ"])
def test_healing_goes_by_identity_and_ends_in_the_very_type_it_began_in(
    tmp_path: Path, domain: str
) -> None:
    tree = idle(tmp_path, domain)
    host, undo = live(tree)

    applied = run(host, undo)

    assert [line for line in undo.log if line.startswith("type")] == [
        f"type of group {NIC_GROUP}: identity",
        f"type of group {NIC_GROUP}: {domain}",
    ]
    assert (type_of(tree), ats_word(tree)) == (domain, 0x8000)
    assert nic_ats(host, applied).state is State.PASS
    assert applied.switched[0].healed


def test_what_cannot_be_healed_still_fails_and_says_that_it_was_tried(tmp_path: Path) -> None:
    host, undo = live(idle(tmp_path, "DMA"))
    host.ats = False

    found = nic_ats(host, run(host, undo))

    assert found.state is State.FAIL
    assert found.reason.endswith(
        "apply had the kernel translate for it in this boot, and ATS Enable stayed off"
    )
    assert found.remedy is not None
    assert "firmware's setup" in found.remedy.command


@pytest.mark.parametrize("domain", ["identity", "DMA"])
def test_what_stayed_off_is_not_tried_again_in_this_boot(tmp_path: Path, domain: str) -> None:
    host, undo = live(idle(tmp_path, domain))
    host.ats = False

    applied = run(host, undo)

    assert len(applied.switched) == 1
    again = plan(host, look(host, Memory(trials=applied.trials)), while_in_use=False)
    assert again.steps == ()


def test_a_group_that_came_into_use_meanwhile_is_left_and_told(tmp_path: Path) -> None:
    tree = idle(tmp_path)
    host, undo = live(tree)
    host.refuse = busy

    applied = run(host, undo)

    (held,) = applied.held
    assert "Operation not permitted" in held.reason
    assert (applied.switched, applied.failures) == ([], [])
    assert type_of(tree) == "identity"
    assert word(tree, NIC_PORT) == TUNED  # the switch group's own change stands
    assert undo.record.unfinished == ()


def test_a_type_that_changed_since_the_plan_is_not_touched(tmp_path: Path) -> None:
    tree = idle(tmp_path)
    host, undo = live(tree)
    todo = plan(host, look(host, Memory()), while_in_use=False)
    tree.group_type(NIC_GROUP, "DMA-FQ")

    applied = apply(todo, host, undo, stop=lambda: False, progress=lambda _: None)

    assert "is of type DMA-FQ by now, no more identity" in applied.held[0].reason
    assert not [line for line in undo.log if line.startswith("type")]


def test_a_nic_that_falls_silent_under_dma_has_its_type_put_back(tmp_path: Path) -> None:
    tree = idle(tmp_path)
    host, undo = live(tree)

    def silent(text: str) -> None:
        if text == "identity":
            return
        all_ones(tree, NIC)

    host.refuse = silent
    applied = run(host, undo)

    assert type_of(tree) == "identity"
    assert "does not answer" in applied.held[0].reason
    assert undo.record.unfinished == ()


def only_way_back(text: str) -> None:
    """Refuse what puts the type back after a proof."""
    if text == "identity":
        raise InUseError("a driver was bound in between")


def test_a_type_that_cannot_be_put_back_is_inconsistent_and_stays_recorded(tmp_path: Path) -> None:
    tree = idle(tmp_path)
    host, undo = live(tree)
    host.refuse = only_way_back

    applied = run(host, undo)

    assert type_of(tree) == "DMA"
    assert applied.exit_code() == ExitCode.INCONSISTENT
    assert "was identity and cannot be put back: a driver was bound" in str(
        applied.failures[0].error
    )
    assert [entry.location for entry in undo.record.unfinished] == [NIC_LOCATION]


def test_a_kernel_that_takes_the_type_and_shows_another_is_inconsistent(tmp_path: Path) -> None:
    tree = idle(tmp_path, "DMA-FQ")
    host, undo = live(tree)
    seen = host.group_type_again

    class Forgetful(LiveKernel):
        def group_type_again(self, number: int) -> str | None:
            return "DMA" if len(self.switched) == 2 else seen(number)

        @property
        def switched(self) -> list[str]:
            return [line for line in undo.log if line.startswith("type of")]

    applied = run(Forgetful(tree, undo.log), undo)

    assert "was DMA-FQ and reads DMA" in str(applied.failures[0].error)
    assert applied.exit_code() == ExitCode.INCONSISTENT


def test_nothing_is_switched_where_the_record_is_full(tmp_path: Path) -> None:
    tree = idle(tmp_path)
    host, undo = live(tree)
    todo = plan(host, look(host, Memory()), while_in_use=False)
    undo.full = True

    applied = apply(
        replace(todo, writes=()), host, undo, stop=lambda: False, progress=lambda _: None
    )

    assert (undo.log, applied.exit_code()) == ([], ExitCode.NOT_PERMITTED)


def test_nothing_is_switched_in_a_switch_group_that_was_rolled_back(tmp_path: Path) -> None:
    tree = idle(tmp_path)
    host, undo = live(tree)
    todo = plan(host, look(host, Memory()), while_in_use=False)
    all_ones(tree, NIC_PORT)

    applied = apply(todo, host, undo, stop=lambda: False, progress=lambda _: None)

    assert len(applied.failures) == 1
    assert not [line for line in undo.log if line.startswith("type")]


def test_a_stop_before_the_switch_undoes_the_writes(tmp_path: Path) -> None:
    tree = idle(tmp_path)
    before = configs(tree)
    host, undo = live(tree)

    applied = run(host, undo, stop_after=f"settle {SWITCH_GROUP} kept")

    assert configs(tree) == before
    assert not [line for line in undo.log if line.startswith("type")]
    assert (applied.interrupted, applied.exit_code()) == (True, ExitCode.INTERRUPTED)


def killed(tree: TreeHost, old: str, new: str, now: str) -> UndoRecord:
    """Return the record of a run that was killed while a type was switched."""
    tree.group_type(NIC_GROUP, now)
    entry = GroupTypeChange(
        NIC_LOCATION, NIC_LOCATION, PciAddress.parse(NIC), "15b3:101b", NIC_GROUP, old, new
    )
    return UndoRecord("boot", (RecordedChange(entry, Outcome.BEGUN),))


KILLED = pytest.mark.parametrize(
    ("old", "new", "now"),
    [
        pytest.param("identity", "DMA", "identity", id="before the switch"),
        pytest.param("identity", "DMA", "DMA", id="while it proved"),
        pytest.param("DMA-FQ", "identity", "identity", id="while it healed"),
        pytest.param("DMA", "identity", "DMA", id="after it was put back"),
    ],
)


@KILLED
def test_restore_puts_back_what_a_killed_run_switched(
    tmp_path: Path, old: str, new: str, now: str
) -> None:
    tree = idle(tmp_path)
    record = killed(tree, old, new, now)

    found = restored(tree, record)

    assert type_of(tree) == old
    assert (found.left, found.exit_code()) == ([], ExitCode.OK)
    assert len(found.restored) == (now != old)
    assert remaining(record, found).changes == ()


def restored(tree: TreeHost, record: UndoRecord) -> Restoration:
    return restore(record, LiveKernel(tree), while_in_use=False)


@KILLED
def test_apply_puts_back_what_a_killed_run_switched_before_it_does_anything(
    tmp_path: Path, old: str, new: str, now: str
) -> None:
    tree = idle(tmp_path)
    undo = MemoryUndo(killed(tree, old, new, now))

    run(LiveKernel(tree, undo.log), undo)

    assert type_of(tree) == old
    assert undo.record.unfinished == ()


def test_what_a_driver_keeps_from_being_put_back_stays_open(tmp_path: Path) -> None:
    tree = idle(tmp_path)
    record = killed(tree, "identity", "DMA", "DMA")
    undo = MemoryUndo(record)
    host = LiveKernel(tree, undo.log)
    host.refuse = busy

    adopt(record.unfinished, plan(host, look(host, Memory()), while_in_use=False), host, undo)
    found = restore(record, host, while_in_use=False)

    assert undo.record.unfinished == record.unfinished
    assert (found.exit_code(), remaining(record, found)) == (ExitCode.DIFFERS, record)


def test_a_type_that_somebody_else_set_since_is_left(tmp_path: Path) -> None:
    tree = idle(tmp_path)

    found = restored(tree, killed(tree, "identity", "DMA", "DMA-FQ"))

    assert type_of(tree) == "DMA-FQ"
    assert "somebody else changed it since" in found.left[0].reason


@pytest.mark.parametrize(
    ("group", "old", "new"),
    [(4, "identity", "DMA"), (NIC_GROUP, "auto", "DMA"), (NIC_GROUP, "identity", "blocked")],
)
def test_a_forged_switch_is_refused_and_nothing_is_written(
    tmp_path: Path, group: int, old: str, new: str
) -> None:
    tree = idle(tmp_path)
    (change,) = killed(tree, "identity", "DMA", "DMA").changes
    assert isinstance(change.entry, GroupTypeChange)
    forged = replace(change.entry, iommu_group=group, old=old, new=new)
    tree.group_type(4, "DMA")

    found = restored(tree, UndoRecord("boot", (RecordedChange(forged, Outcome.BEGUN),)))

    assert "which apply never writes" in found.left[0].reason
    assert (type_of(tree, 4), type_of(tree)) == ("DMA", "DMA")


@pytest.mark.parametrize("outcome", [Outcome.KEPT, Outcome.UNDONE])
def test_a_switch_that_ended_is_never_put_back_again(tmp_path: Path, outcome: Outcome) -> None:
    tree = idle(tmp_path)
    (change,) = killed(tree, "identity", "DMA", "DMA").changes

    found = restored(tree, UndoRecord("boot", (replace(change, outcome=outcome),)))

    assert (type_of(tree), found.restored, found.left) == ("DMA", [], [])


def test_what_nobody_foresaw_leaves_the_type_as_it_was(tmp_path: Path) -> None:
    tree = idle(tmp_path)
    host, undo = live(tree)

    def broken(text: str) -> None:
        if text == "DMA":
            tree.group_type(NIC_GROUP, "DMA")
            raise MemoryError

    host.refuse = broken
    with pytest.raises(MemoryError):
        run(host, undo)

    assert type_of(tree) == "identity"
    assert undo.record.unfinished == ()


def test_a_kernel_that_does_not_know_the_word_is_told(tmp_path: Path) -> None:
    host, undo = live(idle(tmp_path))

    def unknown(_: str) -> None:
        raise ConfigSpaceError("the kernel did not take 'DMA': Invalid argument")

    host.refuse = unknown

    assert "Invalid argument" in run(host, undo).held[0].reason
