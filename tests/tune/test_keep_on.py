"""Ports that apply keeps awake by power/control, and lets sleep again."""

from dataclasses import replace
from pathlib import Path

import pytest
from trees.function import downstream_port, root_port, upstream_port
from trees.host import TreeHost
from trees.machines import one_switch
from tune.faults import FaultyHost, at_write, configs, stuck, word
from tune.judged import NIC, NIC_PORT, ROOT_PORT, judge, opened
from tune.profiles import VM, with_mode
from tune.undo_in_memory import MemoryUndo

from pcietune.errors import ConfigSpaceError, ExitCode
from pcietune.model.finding import State
from pcietune.model.function import PciFunction
from pcietune.model.plan import Plan
from pcietune.model.profile import RuntimePmPolicy
from pcietune.model.undo import AttributeChange, Outcome, RecordedChange, UndoRecord
from pcietune.tune.change.apply import Applied, apply
from pcietune.tune.change.plan import plan
from pcietune.tune.change.restore import Restoration, remaining, restore

KEEP_ON = with_mode(replace(VM, runtime_pm=RuntimePmPolicy.KEEP_ON))
UPSTREAM_PORT, GPU_PORT = "0000:21:00.0", "0000:22:00.0"
PORTS = (ROOT_PORT, UPSTREAM_PORT, GPU_PORT, NIC_PORT)
BY_LINUX, TUNED = 0x001D, 0x005D


@pytest.fixture
def tree(tmp_path: Path) -> TreeHost:
    ports = (
        root_port(ROOT_PORT),
        upstream_port(UPSTREAM_PORT, below=ROOT_PORT),
        downstream_port(GPU_PORT, below=UPSTREAM_PORT),
        downstream_port(NIC_PORT, below=UPSTREAM_PORT),
    )
    return one_switch(
        tmp_path, instead=[replace(p, attributes={"power/control": "auto"}) for p in ports]
    )


def control(tree: TreeHost, address: str) -> Path:
    return tree.directory(address) / "power/control"


def controls(tree: TreeHost) -> list[str]:
    return [control(tree, port).read_text().strip() for port in PORTS]


def planned(host: FaultyHost) -> Plan:
    return plan(host, judge(host, KEEP_ON), while_in_use=False)


def applied(tree: TreeHost, host: FaultyHost | None = None) -> tuple[Applied, MemoryUndo]:
    undo = MemoryUndo()
    host = host or FaultyHost(opened(tree), None, undo.log)
    return carry_out(planned(host), host, undo), undo


def carry_out(todo: Plan, host: FaultyHost, undo: MemoryUndo) -> Applied:
    return apply(todo, host, undo, stop=lambda: False, progress=lambda _: None)


def restored(tree: TreeHost, record: UndoRecord) -> Restoration:
    return restore(record, opened(tree), while_in_use=False)


def test_every_port_of_the_path_that_may_sleep_is_kept_awake(tree: TreeHost) -> None:
    done, undo = applied(tree)

    assert controls(tree) == ["on"] * 4
    assert done.exit_code() == ExitCode.OK
    assert undo.log.index(f"begin {ROOT_PORT}") < undo.log.index(
        f"power/control of {ROOT_PORT}: on"
    )
    again = FaultyHost(opened(tree), None, [])
    assert planned(again).steps == ()
    assert {each.finding.state for each in judge(again, KEEP_ON).power} == {State.PASS}


def test_registers_come_before_power_and_both_are_settled_at_once(tree: TreeHost) -> None:
    _, undo = applied(tree)

    assert undo.log[1] == f"write {NIC_PORT}"
    assert [line for line in undo.log if line.startswith("settle")] == [undo.log[-1]]


def test_a_profile_that_does_not_ask_for_it_leaves_ports_as_they_are(tree: TreeHost) -> None:
    host = opened(tree)

    found = plan(host, judge(host), while_in_use=False)

    assert [step.register for step in found.steps] == ["ACSCtl"]


def test_restore_lets_ports_sleep_again(tree: TreeHost) -> None:
    before = configs(tree)
    _, undo = applied(tree)

    found = restored(tree, undo.record)

    assert controls(tree) == ["auto"] * 4
    assert configs(tree) == before
    assert (found.exit_code(), remaining(undo.record, found).changes) == (ExitCode.OK, ())


def test_what_somebody_else_changed_back_needs_nothing_more(tree: TreeHost) -> None:
    _, undo = applied(tree)
    control(tree, ROOT_PORT).write_text("auto\n")

    found = restored(tree, undo.record)

    assert ROOT_PORT not in [str(back.function.address) for back in found.restored]
    assert found.left == []


def test_what_reads_as_nobody_left_it_is_left(tree: TreeHost) -> None:
    _, undo = applied(tree)
    control(tree, ROOT_PORT).write_text("paused\n")

    found = restored(tree, undo.record)

    assert [left.reason for left in found.left] == [
        f"{ROOT_PORT} reads paused: somebody else changed it since"
    ]


def test_an_attribute_that_is_gone_is_unreadable(tree: TreeHost) -> None:
    _, undo = applied(tree)
    control(tree, ROOT_PORT).unlink()

    found = restored(tree, undo.record)

    assert found.exit_code() == ExitCode.UNREADABLE
    assert found.left[0].reason == f"{ROOT_PORT}: power/control cannot be read"


class Deaf(FaultyHost):
    """A kernel that takes one port's power/control and does nothing."""

    def write_attribute(self, function: PciFunction, name: str, text: str) -> None:
        if str(function.address) != NIC_PORT:
            super().write_attribute(function, name, text)


def test_a_port_that_ignores_it_costs_the_whole_switch_group(tree: TreeHost) -> None:
    before = configs(tree)

    done, undo = applied(tree, Deaf(opened(tree), None, []))

    assert controls(tree) == ["auto"] * 4
    assert configs(tree) == before
    assert done.exit_code() == ExitCode.ROLLED_BACK
    assert "wrote on to power/control, but it reads auto" in str(done.failures[0].error)
    assert set(undo.outcomes().values()) == {"undone"}


def test_a_register_that_fails_leaves_every_port_free_to_sleep(tree: TreeHost) -> None:
    done, _ = applied(tree, FaultyHost(opened(tree), stuck(NIC_PORT, 1 << 6), []))

    assert (controls(tree), done.exit_code()) == (["auto"] * 4, ExitCode.ROLLED_BACK)


class Mute(FaultyHost):
    """A kernel that takes power/control of one port, once, and never again."""

    def write_attribute(self, function: PciFunction, name: str, text: str) -> None:
        if str(function.address) == NIC_PORT or text == "auto":
            raise ConfigSpaceError(f"{function.address}: the kernel did not take {text!r}")
        super().write_attribute(function, name, text)


def test_a_port_that_cannot_be_let_sleep_again_is_inconsistent_and_stays_recorded(
    tree: TreeHost,
) -> None:
    done, undo = applied(tree, Mute(opened(tree), None, []))

    assert word(tree, NIC_PORT) == BY_LINUX
    assert done.exit_code() == ExitCode.INCONSISTENT
    assert "undoing failed too" in str(done.failures[0].error)
    assert undo.outcomes()[ROOT_PORT] == "begun"


def test_an_attribute_that_vanishes_before_it_is_written_leaves_nothing_to_undo(
    tree: TreeHost,
) -> None:
    gone = at_write(nth=1, after=lambda: control(tree, ROOT_PORT).unlink())

    done, undo = applied(tree, FaultyHost(opened(tree), gone, []))

    assert word(tree, NIC_PORT) == BY_LINUX
    assert done.exit_code() == ExitCode.ROLLED_BACK
    assert f"begin {ROOT_PORT}" not in undo.log


@pytest.mark.parametrize(
    ("address", "attribute", "old", "new"),
    [
        (NIC, "power/control", "auto", "on"),  # no bridge
        (ROOT_PORT, "remove", "0", "1"),
        (ROOT_PORT, "power/../remove", "auto", "on"),
        (ROOT_PORT, "power/control", "1", "on"),
    ],
)
def test_a_forged_attribute_is_refused_and_nothing_is_written(
    tree: TreeHost, address: str, attribute: str, old: str, new: str
) -> None:
    function = next(f for f in opened(tree).functions() if str(f.address) == address)
    forged = AttributeChange(
        "group", function.location, function.address, function.id, attribute, old, new
    )
    remove = tree.directory(ROOT_PORT) / "remove"
    remove.write_text("1\n")

    found = restored(tree, UndoRecord("boot", (RecordedChange(forged, Outcome.KEPT),)))

    assert "which apply never writes" in found.left[0].reason
    assert found.exit_code() == ExitCode.BAD_INPUT
    assert (remove.read_text(), controls(tree)) == ("1\n", ["auto"] * 4)
