"""How both reports tell writes of each kind: planned, made, taken back, and not made."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from report.valid_json import broken
from trees.function import root_port
from trees.host import TreeHost
from trees.machines import one_switch
from tune.idle_nics import ENSURE, FORCE, idle
from tune.judged import ROOT_PORT, judge, opened
from tune.live_kernel import LiveKernel, busy
from tune.profiles import VM, with_mode
from tune.undo_in_memory import MemoryUndo

from pcietune.errors import ExitCode
from pcietune.model.access import HostAccess
from pcietune.model.profile import ModeName, Profile, RuntimePmPolicy
from pcietune.model.undo import Outcome as Ended
from pcietune.model.undo import RecordedChange, UndoRecord
from pcietune.report import writes_text
from pcietune.report.document import Document, WriteDocument
from pcietune.report.fill_document import document
from pcietune.report.json_text import encode
from pcietune.report.outcome import Outcome
from pcietune.tune.change.apply import apply
from pcietune.tune.change.plan import plan
from pcietune.tune.change.restore import restore

KEEP_ON = with_mode(replace(VM, runtime_pm=RuntimePmPolicy.KEEP_ON))
HEAD = ["", "switch group 0000:20:01.0/00.0"]
OPENED = "  0000:22:04.0  ACSCtl at 0x106: 0x001d -> 0x005d (mask 0x0040, DirectTrans+)"


def planned(host: HostAccess, profile: Profile, *, force_ats: bool = False) -> Outcome:
    audited = judge(host, profile)
    todo = plan(host, audited, while_in_use=False, force_ats=force_ats)
    return Outcome(mode=ModeName.VM, audit=audited, plan=todo)


def applied(
    host: HostAccess, profile: Profile, undo: MemoryUndo, *, force_ats: bool = False
) -> Outcome:
    outcome = planned(host, profile, force_ats=force_ats)
    assert outcome.plan is not None
    outcome.applied = apply(outcome.plan, host, undo, stop=lambda: False, progress=lambda _: None)
    outcome.audit = judge(host, profile)
    return outcome


def taken_back(host: HostAccess, record: UndoRecord) -> Outcome:
    return Outcome(restoration=restore(record, host, while_in_use=False))


def told(lines: Iterable[str]) -> list[str]:
    return list(lines)


def valid(outcome: Outcome) -> Document:
    filled = document(outcome, ExitCode.OK)
    assert broken(encode(filled)) == []
    return filled


def of(outcome: Outcome, register: str) -> WriteDocument:
    """Return the document's only write of this register."""
    (found,) = (write for write in valid(outcome).writes if write.register == register)
    return found


def sleepy(root: Path) -> TreeHost:
    """Return a host whose root port may sleep, and whose other ports do not say."""
    port = replace(root_port(ROOT_PORT), attributes={"power/control": "auto"})
    return one_switch(root, instead=[port])


def test_a_switch_is_told_with_its_way_back(tmp_path: Path) -> None:
    outcome = planned(LiveKernel(idle(tmp_path)), ENSURE)

    assert told(writes_text.plan(outcome)) == [
        *HEAD,
        OPENED,
        "  0000:24:00.0  iommu_group/type: identity -> DMA (and back, for the kernel to set ATS)",
    ]
    write = of(outcome, "iommu_group/type")
    assert (write.offset, write.mask, write.readback) == (None, None, None)
    assert (write.old, write.new, write.address) == ("identity", "DMA", "0000:24:00.0")
    assert outcome.plan_exit_code() == ExitCode.DIFFERS


def test_a_proof_tells_what_was_seen_and_changes_nothing(tmp_path: Path) -> None:
    outcome = applied(LiveKernel(idle(tmp_path)), ENSURE, MemoryUndo())

    assert told(writes_text.applied(outcome)) == [
        *HEAD,
        f"{OPENED}, reads 0x005d",
        (
            "  0000:24:00.0  iommu_group/type: identity -> DMA (and back: the kernel set ATS "
            "Enable), reads identity"
        ),
    ]
    assert of(outcome, "iommu_group/type").readback == "identity"
    assert outcome.applied is not None
    outcome.applied.kept.clear()
    assert not valid(outcome).changed


def test_healing_is_a_change(tmp_path: Path) -> None:
    outcome = applied(LiveKernel(idle(tmp_path, "DMA-FQ")), ENSURE, MemoryUndo())
    assert outcome.applied is not None
    outcome.applied.kept.clear()

    assert valid(outcome).changed
    assert told(writes_text.applied(outcome))[2:] == [
        (
            "  0000:24:00.0  iommu_group/type: DMA-FQ -> identity (and back: the kernel set ATS "
            "Enable), reads DMA-FQ"
        )
    ]


def test_ats_that_stayed_off_is_told(tmp_path: Path) -> None:
    host = LiveKernel(idle(tmp_path))
    host.ats = False

    lines = told(writes_text.applied(applied(host, ENSURE, MemoryUndo())))

    assert "(and back: ATS Enable stayed off)" in lines[-1]


def test_a_switch_that_the_kernel_refused_is_residual(tmp_path: Path) -> None:
    host = LiveKernel(idle(tmp_path))
    host.refuse = busy

    outcome = applied(host, ENSURE, MemoryUndo())

    assert told(writes_text.applied(outcome))[-1] == (
        "not done  0000:24:00.0 Enable+: the kernel did not take it: Operation not permitted"
    )
    (left,) = valid(outcome).residual
    assert (left.address, left.what) == ("0000:24:00.0", "Enable+")


def test_of_a_recorded_host_it_is_said_once_that_it_has_no_kernel(tmp_path: Path) -> None:
    outcome = planned(opened(idle(tmp_path)), ENSURE)

    assert told(writes_text.plan(outcome))[-1] == (
        "not done  ATS of 1 function: a recorded host has no kernel to switch its IOMMU group's "
        "type"
    )
    assert [left.what for left in valid(outcome).residual] == ["Enable+"]


def test_what_a_recording_lacks_is_no_difference(tmp_path: Path) -> None:
    host = opened(idle(tmp_path))
    assert applied(host, ENSURE, MemoryUndo()).exit_code() == ExitCode.OK

    again = planned(host, ENSURE)

    assert again.plan is not None
    assert len(again.plan.beyond) == 1
    assert again.plan_exit_code() == ExitCode.OK


def test_a_forced_bit_is_told_with_its_risk(tmp_path: Path) -> None:
    host = LiveKernel(idle(tmp_path, "DMA", 0x0005))

    before = told(writes_text.plan(planned(host, FORCE, force_ats=True)))
    outcome = applied(host, FORCE, MemoryUndo(), force_ats=True)

    assert before[3] == "  0000:24:00.0  ATSCtl at 0x112: 0x0005 -> 0x8005 (mask 0x8000, Enable+)"
    after = told(writes_text.applied(outcome))
    for lines in (before, after):
        assert lines[-1].startswith("RISK  0000:24:00.0: Enable set behind the kernel's back")
    write = of(outcome, "ATSCtl")
    assert (write.old, write.mask, write.new, write.readback) == (
        "0x0005",
        "0x8000",
        "0x8005",
        "0x8005",
    )


def test_an_attribute_is_told_by_its_text(tmp_path: Path) -> None:
    tree = sleepy(tmp_path)
    undo = MemoryUndo()

    before = told(writes_text.plan(planned(opened(tree), KEEP_ON)))
    outcome = applied(opened(tree), KEEP_ON, undo)
    back = taken_back(opened(tree), undo.record)

    assert before[-1] == "  0000:20:01.0  power/control: auto -> on"
    assert told(writes_text.applied(outcome))[-1] == f"{before[-1]}, reads on"
    write = of(outcome, "power/control")
    assert (write.old, write.new, write.readback, write.mask) == ("auto", "on", "on", None)
    assert told(writes_text.restored(back))[0] == "0000:20:01.0  power/control: on -> auto"
    assert of(back, "power/control").offset is None


def test_a_group_type_is_told_when_it_is_put_back(tmp_path: Path) -> None:
    tree = idle(tmp_path)
    host, undo = LiveKernel(tree), MemoryUndo()
    (switch,) = plan(host, judge(host, ENSURE), while_in_use=False).switches
    tree.group_type(switch.iommu_group, "DMA")
    undo.record = UndoRecord("boot", (RecordedChange(switch.undo_entry("identity"), Ended.BEGUN),))

    back = taken_back(LiveKernel(tree), undo.record)

    assert told(writes_text.restored(back)) == ["0000:24:00.0  iommu_group/type: DMA -> identity"]


def test_what_restore_left_is_named_by_what_it_is(tmp_path: Path) -> None:
    tree = idle(tmp_path, "DMA")
    undo = MemoryUndo()
    applied(opened(tree), FORCE, undo, force_ats=True)
    host = LiveKernel(idle(tmp_path / "identity"))
    (switch,) = plan(host, judge(host, ENSURE), while_in_use=False).switches
    begun = RecordedChange(switch.undo_entry("identity"), Ended.BEGUN)
    elsewhere = one_switch(tmp_path / "elsewhere", instead=[])
    gone = UndoRecord(
        "boot",
        tuple(
            replace(change, entry=replace(change.entry, id="ffff:0001"))
            for change in (*undo.record.changes, begun)
        ),
    )

    left = valid(taken_back(opened(elsewhere), gone)).residual

    assert [each.what for each in left] == [
        "iommu_group/type",
        "ATSCtl mask 0x8000",
        "ACSCtl mask 0x0040",
    ]
