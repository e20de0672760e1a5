from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from report.outcomes import applied, audited, planned, restored
from trees.function import nic
from trees.host import TreeHost
from trees.machines import one_switch
from tune.faults import all_ones, stuck
from tune.judged import GPU, NIC, NIC_PORT
from tune.profiles import rule, with_ports
from tune.registers import register_changes

from pcietune.errors import LockedError
from pcietune.model.boot_guard import BootGuard
from pcietune.model.done import GroupFailure
from pcietune.model.profile import ModeName
from pcietune.model.undo import UndoRecord
from pcietune.report import findings_text, text, writes_text
from pcietune.report.outcome import Outcome


def joined(lines: Iterable[str]) -> str:
    return "\n".join(lines)


def test_the_heading_says_what_the_host_is_and_how_it_is_judged(tmp_path: Path) -> None:
    outcome = audited(one_switch(tmp_path))
    outcome.disabled = "pcietune=off is on the kernel command line"

    assert list(text.heading(outcome)) == [
        "host     Example Systems GPU Server 8, kernel 6.12.0-amd64",
        "profile  tested: 1 x 10de:20f3 (10de:20f3)",
        "mode     vm",
        "disabled pcietune=off is on the kernel command line",
    ]


def test_the_heading_says_what_the_boot_guard_holds_back(tmp_path: Path) -> None:
    outcome = audited(one_switch(tmp_path))
    outcome.guard = BootGuard(2)

    assert list(text.heading(outcome))[-1].startswith("guard    the last 2 boots never reached")
    outcome.guard = BootGuard(1)
    assert not any(line.startswith("guard") for line in text.heading(outcome))


def test_the_heading_names_switch_groups_whose_mode_differs(tmp_path: Path) -> None:
    outcome = audited(one_switch(tmp_path))
    outcome.group_modes = {"0000:40:01.0/00.0": ModeName.BAREMETAL}

    assert list(text.heading(outcome))[-2:] == [
        "mode     vm",
        "mode     baremetal of switch group 0000:40:01.0/00.0",
    ]


def test_the_heading_of_a_host_that_tells_no_name_and_has_no_gpu_says_so(tmp_path: Path) -> None:
    tree = TreeHost(tmp_path)
    (tmp_path / "sys/class/dmi/id").unlink()
    (tmp_path / "proc/sys/kernel/osrelease").unlink()
    outcome = Outcome(platform=audited(tree).platform, nothing_here=True)

    assert list(text.heading(outcome)) == [
        "host     name not known, kernel not known",
        "There is no GPU on this host: nothing here for pcietune.",
    ]


def test_status_tells_the_ways_and_counts(tmp_path: Path) -> None:
    outcome = audited(one_switch(tmp_path))
    lines = list(text.status(outcome))

    assert lines[:2] == [
        "enforce  audit",
        "channel  registers: open (root, and the kernel is not locked down)",
    ]
    (counted, *_) = findings_text.summary(outcome)
    assert lines[-1] == f"judged   {counted}"
    assert counted.startswith("1 switch group, ")


def test_a_plan_tells_each_write_exactly(tmp_path: Path) -> None:
    assert list(writes_text.plan(planned(one_switch(tmp_path)))) == [
        "",
        "switch group 0000:20:01.0/00.0",
        "  0000:22:04.0  ACSCtl at 0x106: 0x001d -> 0x005d (mask 0x0040, DirectTrans+)",
    ]


def test_a_plan_tells_what_it_holds_back(tmp_path: Path) -> None:
    user = replace(nic(NIC, below=NIC_PORT, driver="vfio-pci"), attributes={"enable": "1"})
    in_use = one_switch(tmp_path / "in_use", instead=[user])
    silent = one_switch(tmp_path / "silent")
    all_ones(silent, GPU)
    all_ones(silent, NIC)
    bound = one_switch(tmp_path / "bound", driver="vfio-pci")

    assert joined(writes_text.plan(planned(in_use))).splitlines()[1:] == [
        "nothing to write",
        "deferred  0000:22:04.0 DirectTrans+: in use by VFIO: 0000:24:00.0",
        "  try: stop the VM, or --while-in-use",
    ]
    assert "not begun  switch group 0000:20:01.0/00.0: 0000:24:00.0 does not answer" in joined(
        writes_text.plan(planned(silent))
    )
    assert "refused  0000:22:04.0 ReqRedir-: VFIO relies on" in joined(
        writes_text.plan(planned(bound, with_ports(nic_side=rule(set="ReqRedir-"))))
    )


def test_apply_tells_what_each_register_reads_now(tmp_path: Path) -> None:
    outcome, _ = applied(one_switch(tmp_path))

    assert joined(writes_text.applied(outcome)).splitlines()[1:] == [
        "switch group 0000:20:01.0/00.0",
        (
            "  0000:22:04.0  ACSCtl at 0x106: 0x001d -> 0x005d (mask 0x0040, DirectTrans+), "
            "reads 0x005d"
        ),
    ]


def test_apply_tells_which_group_failed_and_what_to_try(tmp_path: Path) -> None:
    outcome, _ = applied(one_switch(tmp_path), stuck(NIC_PORT, 1 << 6))

    said = joined(writes_text.applied(outcome))

    assert "FAILED  switch group 0000:20:01.0/00.0: 0000:22:04.0: wrote 0x0040" in said
    assert "  try: the bits may be read-only on this function" in said


def test_apply_tells_a_failure_without_a_hint_by_its_message_alone(tmp_path: Path) -> None:
    outcome, _ = applied(one_switch(tmp_path), stuck(NIC_PORT, 1 << 6))
    assert outcome.applied
    outcome.applied.failures = [GroupFailure("0000:20:01.0/00.0", LockedError("busy"))]

    assert list(writes_text.applied(outcome))[1:] == [
        "FAILED  switch group 0000:20:01.0/00.0: busy"
    ]


def test_apply_tells_that_it_was_interrupted_and_undid_all(tmp_path: Path) -> None:
    outcome, _ = applied(one_switch(tmp_path), interrupted=True)

    assert list(writes_text.applied(outcome))[1:] == [
        "interrupted: everything written in this run was undone",
        "nothing was written",
    ]


def test_restore_tells_what_it_put_back(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    _, record = applied(tree)

    assert list(writes_text.restored(restored(tree, record))) == [
        "0000:22:04.0  ACSCtl at 0x106: 0x005d -> 0x001d (mask 0x0040)"
    ]


def test_restore_tells_what_it_left_and_why(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    _, record = applied(tree)
    all_ones(tree, NIC_PORT)
    found = UndoRecord(record.boot_id, record.changes, register_changes(record))

    assert list(writes_text.restored(restored(tree, found))) == [
        "left  0000:22:04.0: 0000:22:04.0 does not answer: it reads as all ones",
        "left  0000:22:04.0: set before this boot's first apply",
        "nothing to put back",
    ]


def test_there_is_nothing_to_tell_of_what_was_not_reached() -> None:
    nothing = Outcome()

    assert list(text.heading(nothing)) == list(text.status(nothing)) == []
    assert list(writes_text.plan(nothing)) == list(writes_text.applied(nothing)) == []
    assert list(writes_text.restored(nothing)) == []
    assert list(findings_text.findings(nothing, passes=True)) == []
