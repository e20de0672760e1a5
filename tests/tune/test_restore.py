from dataclasses import replace
from pathlib import Path

import pytest
from trees.fabrics import two_switches
from trees.function import nic
from trees.host import TreeHost
from trees.machines import one_switch
from tune.faults import FaultyHost, all_ones, configs, refused, set_word, stuck, word
from tune.judged import NIC, NIC_PORT, judge, opened
from tune.profiles import PROFILE, rule, with_ports
from tune.registers import register_changes
from tune.undo_in_memory import MemoryUndo

from pcietune.address import PciAddress
from pcietune.errors import ExitCode
from pcietune.model.profile import Profile
from pcietune.model.undo import Outcome, RecordedChange, UndoRecord
from pcietune.tune.change.apply import apply
from pcietune.tune.change.plan import plan
from pcietune.tune.change.restore import Restoration, remaining, restore

FIRST, SECOND = "0000:22:04.0", "0000:22:08.0"
BY_LINUX, TUNED = 0x001D, 0x005D


def applied(tree: TreeHost, profile: Profile = PROFILE) -> UndoRecord:
    """Apply to a tree and return the record."""
    host = opened(tree)
    undo = MemoryUndo()
    todo = plan(host, judge(host, profile), while_in_use=False)
    apply(todo, host, undo, stop=lambda: False, progress=lambda _: None)
    return undo.record


def restored(tree: TreeHost, record: UndoRecord, *, while_in_use: bool = False) -> Restoration:
    return restore(record, opened(tree), while_in_use=while_in_use)


def restored_ports(restoration: Restoration) -> list[str]:
    return [str(back.function.address) for back in restoration.restored]


def with_outcome(record: UndoRecord, outcome: Outcome) -> UndoRecord:
    return replace(record, changes=tuple(replace(c, outcome=outcome) for c in record.changes))


def test_it_brings_every_byte_back_last_change_first(tmp_path: Path) -> None:
    tree = two_switches(tmp_path)
    before = configs(tree)
    record = applied(tree)

    found = restored(tree, record)

    assert configs(tree) == before
    assert restored_ports(found) == ["0000:42:08.0", "0000:42:04.0", SECOND, FIRST]
    assert (found.exit_code(), found.left) == (ExitCode.OK, [])
    assert remaining(record, found).changes == ()


def test_what_others_changed_beside_is_left_as_it_is(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    record = applied(tree)
    set_word(tree, NIC_PORT, 0x0F59)  # DirectTrans still on; others are not as they were

    restored(tree, record)

    assert word(tree, NIC_PORT) == 0x0F19


def test_a_change_that_somebody_else_undid_needs_nothing_more(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    record = applied(tree)
    set_word(tree, NIC_PORT, 0x0008)

    found = restored(tree, record)

    assert word(tree, NIC_PORT) == 0x0008
    assert (found.restored, found.left) == ([], [])
    assert remaining(record, found).changes == ()


def test_bits_that_are_neither_as_before_nor_as_set_are_left_and_said(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    set_word(tree, NIC_PORT, 0x001C)
    record = applied(tree, with_ports(nic_side=rule(set="DirectTrans+ SrcValid+")))
    set_word(tree, NIC_PORT, 0x005C)  # DirectTrans as set, SrcValid as before

    found = restored(tree, record)

    assert word(tree, NIC_PORT) == 0x005C
    (left,) = found.left
    assert left.reason == "0000:22:04.0 reads 0x005c: somebody else changed it since"
    assert found.exit_code() == ExitCode.DIFFERS
    assert remaining(record, found).changes == record.changes


def test_a_port_whose_buses_were_renumbered_is_found_by_its_location(tmp_path: Path) -> None:
    old = two_switches(tmp_path / "old")
    record = applied(old)
    new = two_switches(tmp_path / "new")
    for address in (FIRST, SECOND):
        set_word(new, address, TUNED)
    renumbered = UndoRecord(
        record.boot_id,
        tuple(
            replace(c, entry=replace(c.entry, address=replace_bus(str(c.entry.address))))
            for c in record.changes[:2]
        ),
    )

    found = restored(new, renumbered)

    assert restored_ports(found) == [SECOND, FIRST]
    assert word(new, FIRST) == BY_LINUX


def replace_bus(address: str) -> PciAddress:
    """Return the address on the bus that it had before a renumbering."""
    return PciAddress.parse(address.replace(":22:", ":72:"))


def test_a_port_that_is_gone_is_left_and_said(tmp_path: Path) -> None:
    record = applied(two_switches(tmp_path / "old"))
    smaller = one_switch(tmp_path / "new")
    set_word(smaller, NIC_PORT, TUNED)

    found = restored(smaller, record)

    assert restored_ports(found) == [FIRST]
    assert [left.reason for left in found.left] == [
        "no 1000:c010 is at 0000:40:01.0/00.0/08.0 any more",
        "no 1000:c010 is at 0000:40:01.0/00.0/04.0 any more",
        "no 1000:c010 is at 0000:20:01.0/00.0/08.0 any more",
    ]
    assert found.exit_code() == ExitCode.DIFFERS


def test_another_device_at_the_same_location_is_not_written(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    record = applied(tree)
    (change,) = record.changes
    foreign = RecordedChange(replace(change.entry, id="1000:c011"), change.outcome)

    found = restored(tree, UndoRecord(record.boot_id, (foreign,)))

    assert word(tree, NIC_PORT) == TUNED
    assert "no 1000:c011 is at" in found.left[0].reason


def in_use(root: Path) -> tuple[TreeHost, UndoRecord]:
    """Return a host that was tuned before a VM took the NIC."""
    tree = one_switch(root, instead=[nic(NIC, below=NIC_PORT, driver="vfio-pci")])
    record = applied(tree)
    (tree.directory(NIC) / "enable").write_text("1\n")
    return tree, record


def test_nothing_is_put_back_above_a_function_in_use(tmp_path: Path) -> None:
    tree, record = in_use(tmp_path)

    found = restored(tree, record)

    assert word(tree, NIC_PORT) == TUNED
    assert [left.reason for left in found.left] == ["in use by VFIO: 0000:24:00.0"]
    assert remaining(record, found).changes == record.changes


def test_while_in_use_puts_back_above_a_function_in_use(tmp_path: Path) -> None:
    tree, record = in_use(tmp_path)

    restored(tree, record, while_in_use=True)

    assert word(tree, NIC_PORT) == BY_LINUX


@pytest.mark.parametrize("while_in_use", [False, True])
def test_isolation_that_vfio_relies_on_is_not_taken_back(
    tmp_path: Path, *, while_in_use: bool
) -> None:
    tree = one_switch(tmp_path, driver="vfio-pci")
    set_word(tree, NIC_PORT, 0x001C)
    record = applied(tree, with_ports(nic_side=rule(set="SrcValid+")))

    found = restored(tree, record, while_in_use=while_in_use)

    assert word(tree, NIC_PORT) == BY_LINUX
    assert found.left[0].reason.startswith("VFIO relies on the isolation of 0000:24:00.0")


@pytest.mark.parametrize(
    ("found", "after"),
    [
        pytest.param(TUNED, BY_LINUX, id="killed after the write"),
        pytest.param(BY_LINUX, BY_LINUX, id="killed before the write"),
    ],
)
def test_what_a_killed_apply_began_is_undone_whether_or_not_it_was_made(
    tmp_path: Path, found: int, after: int
) -> None:
    tree = one_switch(tmp_path)
    record = with_outcome(applied(tree), Outcome.BEGUN)
    set_word(tree, NIC_PORT, found)

    restoration = restored(tree, record)

    assert word(tree, NIC_PORT) == after
    assert remaining(record, restoration).changes == ()


def test_a_change_that_was_rolled_back_is_not_touched_again(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    record = with_outcome(applied(tree), Outcome.UNDONE)

    found = restored(tree, record)

    assert word(tree, NIC_PORT) == TUNED  # somebody else's by now
    assert remaining(record, found).changes == ()


def test_bits_that_were_set_before_are_left_and_named(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    set_word(tree, NIC_PORT, TUNED)
    host = opened(tree)
    record = UndoRecord("boot", found=plan(host, judge(host), while_in_use=False).found)

    found = restored(tree, record)

    assert word(tree, NIC_PORT) == TUNED
    assert [str(entry.address) for entry in found.found] == [NIC_PORT]
    assert remaining(record, found).found == record.found


def test_two_changes_of_the_same_bit_are_both_settled(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    record = applied(tree)
    set_word(tree, NIC_PORT, BY_LINUX)  # a reset of the switch
    twice = replace(record, changes=record.changes + applied(tree).changes)

    found = restored(tree, twice)

    assert word(tree, NIC_PORT) == BY_LINUX
    assert remaining(twice, found).changes == ()


def test_a_port_that_does_not_answer_is_left_and_stays_recorded(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    set_word(tree, NIC_PORT, TUNED)
    record = applied(tree, with_ports(nic_side=rule(set="DirectTrans-")))
    all_ones(tree, NIC_PORT)

    found = restored(tree, record)

    assert found.exit_code() == ExitCode.UNREADABLE
    assert remaining(record, found).changes == record.changes


def test_a_port_that_ignores_the_write_back_is_inconsistent(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    record = applied(tree)
    host = FaultyHost(opened(tree), stuck(NIC_PORT, 1 << 6), [])

    found = restore(record, host, while_in_use=False)

    assert found.exit_code() == ExitCode.INCONSISTENT
    assert found.left[0].reason == "0000:22:04.0: put back 0x001d, but it reads 0x005d"


def test_a_write_back_that_the_kernel_refuses_is_left_with_its_reason(tmp_path: Path) -> None:
    tree = two_switches(tmp_path)
    record = applied(tree)
    host = FaultyHost(opened(tree), refused(nth=2, until=2), [])

    found = restore(record, host, while_in_use=False)

    assert len(found.restored) == 3
    assert found.exit_code() == ExitCode.NOT_PERMITTED


def test_an_empty_record_puts_nothing_back(tmp_path: Path) -> None:
    found = restored(one_switch(tmp_path), UndoRecord("boot"))

    assert (found.restored, found.exit_code()) == ([], ExitCode.OK)


@pytest.mark.parametrize(
    ("offset", "mask", "old", "new"),
    [
        (0x004, 0xFFFF, 0x0000, 0x0006),  # Command
        (0x104, 0x0040, 0x0000, 0x0040),  # ACS Capability
        (0x105, 0x0040, 0x0000, 0x0040),
        (0x106, 0x0020, 0x0020, 0x0000),  # EgressCtrl
        (0x106, 0x1000, 0x1000, 0x0000),  # Unclaimed Request Redirect
        (0x106, 0x10000, 0x10000, 0x0000),
        (0x106, -1, 0x0000, 0x001D),
        (0x106, 0x0040, 0x001D, 0x005D),  # bits beside the mask
    ],
)
def test_a_record_of_what_apply_never_writes_is_refused_and_nothing_is_written(
    tmp_path: Path, offset: int, mask: int, old: int, new: int
) -> None:
    tree = one_switch(tmp_path)
    (change,) = register_changes(applied(tree))
    before = configs(tree)
    forged = replace(change, offset=offset, mask=mask, old=old, new=new)

    found = restored(tree, UndoRecord("", (RecordedChange(forged, Outcome.KEPT),)))

    assert configs(tree) == before
    assert "which apply never writes" in found.left[0].reason
    assert found.exit_code() == ExitCode.BAD_INPUT
