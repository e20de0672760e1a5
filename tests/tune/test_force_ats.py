"""ATS Enable written behind the kernel's back, and cleared again."""

from pathlib import Path

from trees.host import TreeHost
from tune.faults import FaultyHost, configs, set_word, word
from tune.idle_nics import FORCE, ats_word, idle
from tune.judged import NIC, NIC_PORT, finding, judge, opened
from tune.live_kernel import ats_control
from tune.undo_in_memory import MemoryUndo

from pcietune.errors import ExitCode
from pcietune.model.finding import State
from pcietune.model.plan import Plan
from pcietune.tune.change.apply import Applied, apply
from pcietune.tune.change.plan import plan
from pcietune.tune.change.restore import restore

BY_LINUX = 0x001D


def planned(host: FaultyHost) -> Plan:
    return plan(host, judge(host, FORCE), while_in_use=False, force_ats=True)


def forced(tree: TreeHost) -> tuple[Applied, MemoryUndo]:
    undo = MemoryUndo()
    host = FaultyHost(opened(tree), None, undo.log)
    return apply(planned(host), host, undo, stop=lambda: False, progress=lambda _: None), undo


def bind(tree: TreeHost, driver: str) -> None:
    """Bind the NIC to a driver, as udev may at any time."""
    path = tree.directory(NIC)
    tree.link(f"{path.relative_to(tree.root.resolve())}/driver", f"sys/bus/pci/drivers/{driver}")
    (path / "uevent").write_text(f"DRIVER={driver}\n{(path / 'uevent').read_text()}")
    if driver == "vfio-pci":
        (path / "vfio-dev").mkdir()


def test_only_the_enable_bit_changes_and_the_change_is_recorded_first(tmp_path: Path) -> None:
    tree = idle(tmp_path, "DMA", 0x0005)

    done, undo = forced(tree)

    assert ats_word(tree) == 0x8005
    assert undo.log[2:4] == [f"begin {NIC}", f"write {NIC}"]
    assert done.exit_code() == ExitCode.OK
    assert finding(judge(opened(tree), FORCE), "nic.ats", NIC).state is State.PASS


def test_a_nic_that_vfio_took_meanwhile_is_not_forced(tmp_path: Path) -> None:
    tree = idle(tmp_path, "DMA")
    undo = MemoryUndo()
    host = FaultyHost(opened(tree), None, undo.log)
    todo = planned(host)
    bind(tree, "vfio-pci")

    done = apply(todo, host, undo, stop=lambda: False, progress=lambda _: None)

    assert (ats_word(tree), word(tree, NIC_PORT)) == (0, BY_LINUX)
    assert "was bound to VFIO meanwhile" in str(done.failures[0].error)
    assert f"write {NIC}" not in undo.log


def test_restore_clears_what_was_forced(tmp_path: Path) -> None:
    tree = idle(tmp_path, "DMA", 0x0005)
    before = configs(tree)
    _, undo = forced(tree)

    found = restore(undo.record, opened(tree), while_in_use=False)

    assert configs(tree) == before
    assert [back.register for back in found.restored] == ["ATSCtl", "ACSCtl"]


def test_restore_leaves_enable_to_a_driver_that_may_count_on_it(tmp_path: Path) -> None:
    tree = idle(tmp_path, "DMA")
    _, undo = forced(tree)
    bind(tree, "mlx5_core")

    found = restore(undo.record, opened(tree), while_in_use=True)

    assert ats_word(tree) == 0x8000
    assert [left.reason for left in found.left] == [
        "0000:24:00.0 is bound to mlx5_core: unbind it first"
    ]


def test_restore_touches_no_other_bit_of_ats_control(tmp_path: Path) -> None:
    tree = idle(tmp_path, "DMA", 0x0005)
    _, undo = forced(tree)
    at = ats_control(tree, NIC)
    assert at is not None
    set_word(tree, NIC, 0x8001, at)  # somebody else wrote another Smallest Translation Unit

    restore(undo.record, opened(tree), while_in_use=False)

    assert ats_word(tree) == 0x0001
