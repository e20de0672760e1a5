"""What watch notices, tells and repairs, on trees whose registers change between its looks."""

import gc
import sys
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest
from cli.test_lock import held
from cli.watched import SETTINGS, Watched, event
from trees.fabrics import two_switches
from trees.function import downstream_port, nic, root_port
from trees.host import TreeHost
from trees.machines import one_switch
from tune.faults import all_ones, configs, set_word, vanish, word
from tune.judged import NIC, NIC_PORT, opened

from pcietune.errors import BadInputError, ConfigSpaceError, SwitchedOffError
from pcietune.host.config_space import FileConfigSpace
from pcietune.host.host_files import HostFiles
from pcietune.host.run.undo_log import read_undo_record
from pcietune.host.sysfs import SysfsHost
from pcietune.model.device_event import ErrorEvent
from pcietune.model.function import FunctionState, LinkState, PciFunction
from pcietune.tune.watch.notice import NoticeKind

BY_LINUX, TUNED = 0x001D, 0x005D
OTHER_NIC_PORT = "0000:22:08.0"
FAR_PORT = "0000:42:04.0"
SAID = "ACSCtl 0x005d -> 0x001d (DirectTrans-); likely"


def lose(tree: TreeHost, address: str = NIC_PORT, value: int = BY_LINUX) -> Callable[[], None]:
    """Return what lets a port lose its word."""
    return partial(set_word, tree, address, value)


def tuned(tree: TreeHost, *, enforce: str = "apply") -> Watched:
    """Return a host that is as wanted and watched."""
    watched = Watched(tree, enforce="apply")
    watched.begin()
    if enforce != "apply":
        tree.put(SETTINGS, f"mode: vm\nenforce: {enforce}\nprofile: gpu-rdma")
        watched.run(301)
    watched.told.clear()
    watched.notices.clear()
    return watched


def use(tree: TreeHost, address: str = NIC, enable: int = 1) -> Callable[[], None]:
    """Return what lets VFIO use a function, or let it go."""
    return partial(put_attribute, tree, address, "enable", str(enable))


def put_attribute(tree: TreeHost, address: str, name: str, text: str) -> None:
    (tree.directory(address) / name).write_text(f"{text}\n")


def test_what_is_not_as_wanted_at_the_start_is_repaired_and_recorded(tmp_path: Path) -> None:
    watched = Watched(one_switch(tmp_path))

    watched.begin()

    assert word(watched.tree, NIC_PORT) == TUNED
    record = read_undo_record(HostFiles(tmp_path, recorded=True))
    assert record is not None
    assert [str(change.entry.address) for change in record.changes] == [NIC_PORT]
    assert (tmp_path / "run/pcietune/policy.json").exists()
    assert watched.of(NoticeKind.WATCHING) == [
        "watching 1 switch group by profile gpu-rdma, mode vm: what the profile may set is repaired"
    ]


def test_what_an_event_concerns_is_looked_at_once_the_events_have_settled(tmp_path: Path) -> None:
    watched = tuned(one_switch(tmp_path))
    watched.at(10, lose(watched.tree), event(NIC, "bind"))

    watched.run(10.9)
    assert word(watched.tree, NIC_PORT) == BY_LINUX
    watched.run(0.2)

    assert word(watched.tree, NIC_PORT) == TUNED
    assert [kind for kind, _ in watched.told] == ["changed", "fails", "repaired"]
    assert watched.told[0][1].startswith(f"{NIC_PORT} {SAID}")


def test_what_no_event_tells_of_is_found_by_the_slow_poll(tmp_path: Path) -> None:
    watched = tuned(one_switch(tmp_path))
    watched.at(10, lose(watched.tree))

    watched.run(299)
    assert word(watched.tree, NIC_PORT) == BY_LINUX
    watched.run(2)

    assert word(watched.tree, NIC_PORT) == TUNED


def test_a_look_that_somebody_asks_for_comes_at_once(tmp_path: Path) -> None:
    watched = tuned(one_switch(tmp_path))
    lose(watched.tree)()

    watched.look = True
    watched.run(0.1)

    assert word(watched.tree, NIC_PORT) == TUNED


def test_an_event_of_one_switch_group_leaves_the_others_unread(tmp_path: Path) -> None:
    watched = tuned(two_switches(tmp_path))
    watched.at(10, lose(watched.tree, FAR_PORT, 0x0019), event("0000:24:00.0", "unbind"))

    watched.run(20)

    assert watched.told == []


def test_an_event_of_a_function_that_is_in_no_switch_group_leads_to_no_look(
    tmp_path: Path,
) -> None:
    tree = one_switch(tmp_path)
    tree.add(root_port("0000:80:01.0"), nic("0000:81:00.0", below="0000:80:01.0"))
    watched = tuned(tree)
    watched.at(10, lose(tree), event("0000:81:00.0", "bind"))

    watched.run(20)

    assert word(tree, NIC_PORT) == BY_LINUX


def test_where_events_were_lost_everything_is_looked_at(tmp_path: Path) -> None:
    watched = tuned(two_switches(tmp_path))
    watched.at(10, lose(watched.tree, FAR_PORT), lost=True)

    watched.run(20)

    assert word(watched.tree, FAR_PORT) == TUNED
    assert watched.of(NoticeKind.REMARK) == ["events were lost: everything is looked at"]


def test_where_enforce_is_audit_a_change_is_told_and_nothing_is_written(tmp_path: Path) -> None:
    watched = tuned(one_switch(tmp_path), enforce="audit")
    lose(watched.tree)()
    before = configs(watched.tree)

    watched.run(301)

    assert configs(watched.tree) == before
    assert [kind for kind, _ in watched.told] == ["changed", "fails"]


def test_an_enforce_that_changes_is_heeded_from_the_next_look_on(tmp_path: Path) -> None:
    watched = tuned(one_switch(tmp_path), enforce="audit")
    lose(watched.tree)()

    watched.tree.put(SETTINGS, "mode: vm\nenforce: apply\nprofile: gpu-rdma")
    watched.run(301)

    assert word(watched.tree, NIC_PORT) == TUNED
    assert watched.of(NoticeKind.WATCHING)[0].endswith("what the profile may set is repaired")


def test_under_a_function_in_use_nothing_is_written_until_it_is_let_go(tmp_path: Path) -> None:
    watched = tuned(one_switch(tmp_path, driver="vfio-pci"))
    use(watched.tree)()
    lose(watched.tree)()

    watched.run(700)
    assert word(watched.tree, NIC_PORT) == BY_LINUX
    assert watched.of(NoticeKind.DEFERRED) == [
        f"{NIC_PORT} deferred ACSCtl DirectTrans+: in use by VFIO: {NIC}"
    ]
    use(watched.tree, enable=0)()
    watched.run(3)

    assert word(watched.tree, NIC_PORT) == TUNED


def test_a_user_that_is_unbound_or_vanishes_lets_go(tmp_path: Path) -> None:
    watched = tuned(one_switch(tmp_path, driver="vfio-pci"))
    use(watched.tree)()
    lose(watched.tree)()
    watched.run(301)

    (watched.tree.directory(NIC) / "driver").unlink()
    (watched.tree.directory(NIC) / "vfio-dev/vfio0").rmdir()
    (watched.tree.directory(NIC) / "vfio-dev").rmdir()
    watched.run(3)

    assert word(watched.tree, NIC_PORT) == TUNED


def test_a_port_that_sleeps_and_what_is_below_it_are_not_read(tmp_path: Path) -> None:
    watched = tuned(one_switch(tmp_path))
    put_attribute(watched.tree, NIC_PORT, "power/runtime_status", "suspended")
    put_attribute(watched.tree, NIC_PORT, "power_state", "D3hot")
    all_ones(watched.tree, NIC_PORT)
    all_ones(watched.tree, NIC)

    watched.run(650)

    assert watched.told == []


def test_a_port_that_wakes_without_its_word_is_repaired_and_sleep_is_named(
    tmp_path: Path,
) -> None:
    watched = tuned(one_switch(tmp_path))
    put_attribute(watched.tree, NIC_PORT, "power/runtime_suspended_time", "0")
    watched.run(301)
    put_attribute(watched.tree, NIC_PORT, "power/runtime_status", "suspended")
    watched.run(301)

    lose(watched.tree)()
    put_attribute(watched.tree, NIC_PORT, "power/runtime_suspended_time", "250000")
    put_attribute(watched.tree, NIC_PORT, "power/runtime_status", "active")
    watched.run(3)

    assert word(watched.tree, NIC_PORT) == TUNED
    assert watched.notices[0].facts["cause"] == "resume"


@pytest.mark.parametrize(
    ("error", "cause"),
    [(ErrorEvent.SUCCEEDED, "recovery"), (ErrorEvent.FAILED, "failed-recovery")],
)
def test_recovery_of_the_port_above_is_named_as_the_cause(
    tmp_path: Path, error: ErrorEvent, cause: str
) -> None:
    watched = tuned(one_switch(tmp_path))
    watched.at(5, lose(watched.tree), event("0000:20:01.0", "change", error))

    watched.run(10)

    assert watched.notices[0].facts["cause"] == cause
    assert word(watched.tree, NIC_PORT) == TUNED


def test_what_was_told_while_a_port_could_not_be_read_is_remembered_until_it_can(
    tmp_path: Path,
) -> None:
    watched = tuned(one_switch(tmp_path))
    data = watched.tree.config(NIC_PORT).read_bytes()
    recovery = event("0000:21:00.0", "change", ErrorEvent.BEGUN)
    watched.at(5, partial(all_ones, watched.tree, NIC_PORT), recovery)
    watched.run(7)
    assert watched.of(NoticeKind.FAILS) != []

    watched.tree.config(NIC_PORT).write_bytes(data)
    lose(watched.tree)()
    watched.run(15)

    (changed,) = (n for n in watched.notices if n.kind is NoticeKind.CHANGED)
    assert changed.facts["cause"] == "recovery"
    assert word(watched.tree, NIC_PORT) == TUNED


def test_a_reset_of_the_switch_takes_the_words_of_all_its_ports(tmp_path: Path) -> None:
    watched = tuned(two_switches(tmp_path))
    lose(watched.tree)()
    lose(watched.tree, OTHER_NIC_PORT)()

    watched.run(301)

    assert [n.facts["cause"] for n in watched.notices if "cause" in n.facts] == ["reset", "reset"]


def test_one_port_alone_was_not_reset(tmp_path: Path) -> None:
    watched = tuned(two_switches(tmp_path))
    lose(watched.tree)()

    watched.run(301)

    assert watched.notices[0].facts["cause"] == "by-hand"


def test_what_another_pcietune_wrote_is_not_taken_for_somebody_else_s(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    watched = Watched(tree, enforce="audit")
    watched.begin()

    another = Watched(tree, enforce="apply")
    another.begin()
    tree.put(SETTINGS, "mode: vm\nenforce: audit\nprofile: gpu-rdma")
    watched.told.clear()
    watched.run(301)

    (changed,) = (n for n in watched.notices if n.kind is NoticeKind.CHANGED)
    assert changed.facts["cause"] == "pcietune"
    assert watched.of(NoticeKind.MENDED) != []


def test_a_port_that_came_back_after_a_rescan_is_repaired_and_said_to_be_so(
    tmp_path: Path,
) -> None:
    watched = tuned(one_switch(tmp_path))
    events = (event(NIC_PORT, "remove"), event(NIC_PORT, "add"))
    watched.at(5, lose(watched.tree), *events)

    watched.run(10)

    assert watched.notices[0].facts["cause"] == "added"
    assert word(watched.tree, NIC_PORT) == TUNED


def test_a_switch_that_is_added_is_watched_from_then_on(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    watched = tuned(tree)
    more = (
        downstream_port("0000:22:08.0", below="0000:21:00.0"),
        nic("0000:25:00.0", below="0000:22:08.0"),
    )
    watched.at(5, partial(tree.add, *more), event("0000:22:08.0", "add"))

    watched.run(10)

    assert word(tree, "0000:22:08.0") == TUNED
    assert watched.of(NoticeKind.ADDED) == ["0000:22:08.0 is new here; ACSCtl reads 0x001d"]


def test_a_port_that_was_removed_is_told_and_forgotten(tmp_path: Path) -> None:
    tree = two_switches(tmp_path)
    watched = tuned(tree)

    def remove() -> None:
        for address in ("0000:25:00.0", OTHER_NIC_PORT):
            (tree.root / "sys/bus/pci/devices" / address).unlink()

    watched.at(5, remove, event("0000:25:00.0", "remove"), event(OTHER_NIC_PORT, "remove"))
    watched.run(10)

    assert watched.told == [("removed", f"{OTHER_NIC_PORT} was removed")]


def test_a_function_that_vanishes_while_it_is_judged_is_no_end(tmp_path: Path) -> None:
    watched = tuned(one_switch(tmp_path))
    watched.at(5, partial(vanish, watched.tree, NIC), event(NIC, "change"))
    lose(watched.tree)()

    watched.run(400)

    assert watched.of(NoticeKind.TROUBLE) != [] or watched.of(NoticeKind.FAILS) != []


def test_what_is_undone_again_and_again_is_repaired_ever_more_seldom(tmp_path: Path) -> None:
    watched = tuned(one_switch(tmp_path))
    repaired = []
    for _ in range(110):
        lose(watched.tree)()
        watched.at(1, lambda: None, event(NIC_PORT, "change"))
        watched.run(9)
        if word(watched.tree, NIC_PORT) == TUNED:
            repaired.append(watched.clockwork.now)

    pauses = [later - earlier for earlier, later in pairwise(repaired)]
    assert pauses[0] == 9  # the first of the three was at the start
    assert [round(pause / 60) for pause in pauses[1:5]] == [1, 2, 4, 8]
    held_back = watched.of(NoticeKind.HELD_BACK)
    assert held_back[0] == (
        f"{NIC_PORT} something keeps undoing DirectTrans+: it is repaired again in 60 s at the "
        "earliest"
    )
    assert len(held_back) == len(repaired) - 1


def test_a_bit_that_is_fought_over_keeps_no_other_bit_of_its_port_waiting(tmp_path: Path) -> None:
    profile = tmp_path / "etc/pcietune/profiles.d/site.yaml"
    tree = one_switch(tmp_path)
    profile.parent.mkdir(parents=True)
    profile.write_text(
        "version: 1\nsummary: sets isolation, too\nextends: gpu-rdma\n"
        "modes:\n  vm:\n    ports:\n      nic-side:\n        set: [DirectTrans+, ReqRedir+]\n"
        "        require: []\n"
    )
    watched = Watched(tree, settings="profile: site")
    watched.begin()
    for _ in range(3):
        lose(tree)()
        watched.look = True
        watched.run(1)
    assert watched.of(NoticeKind.HELD_BACK) != []

    lose(tree, value=0x0019)()
    watched.look = True
    watched.run(1)

    assert word(tree, NIC_PORT) == BY_LINUX


def test_while_another_pcietune_holds_the_lock_the_repair_is_put_off(tmp_path: Path) -> None:
    watched = tuned(one_switch(tmp_path))
    lose(watched.tree)()

    with held(tmp_path):
        watched.look = True
        watched.run(1)
        assert word(watched.tree, NIC_PORT) == BY_LINUX
        (trouble,) = watched.of(NoticeKind.TROUBLE)
        assert trouble == (
            "another pcietune (pid 4711, apply) is at work on this host; it is tried again"
        )
    watched.run(6)

    assert word(watched.tree, NIC_PORT) == TUNED


def test_what_was_added_while_the_lock_was_held_is_in_the_hook_s_policy_later(
    tmp_path: Path,
) -> None:
    tree = one_switch(tmp_path)
    watched = tuned(tree)
    policy = tmp_path / "run/pcietune/policy.json"
    policy.unlink()

    with held(tmp_path):
        watched.at(1, lambda: None, event(NIC, "add"))
        watched.run(3)
        assert not policy.exists()
    watched.run(6)

    assert policy.exists()


def test_broken_settings_are_told_once_and_nothing_is_written_until_they_are_mended(
    tmp_path: Path,
) -> None:
    watched = tuned(one_switch(tmp_path))
    watched.tree.put(SETTINGS, "mode: [")
    lose(watched.tree)()
    before = configs(watched.tree)

    watched.run(2000)
    assert configs(watched.tree) == before
    (trouble,) = watched.told
    assert trouble[0] == "trouble"
    assert "pcietune.yaml" in trouble[1]
    watched.tree.put(SETTINGS, "mode: vm\nenforce: apply\nprofile: gpu-rdma")
    watched.run(301)

    assert word(watched.tree, NIC_PORT) == TUNED
    assert watched.of(NoticeKind.REMARK) == [
        "what kept this host from being looked after is mended"
    ]


def test_an_off_switch_that_appears_later_stops_all_writing(tmp_path: Path) -> None:
    watched = tuned(one_switch(tmp_path))
    watched.tree.put("etc/pcietune/disabled", "")
    lose(watched.tree)()

    watched.run(700)

    assert word(watched.tree, NIC_PORT) == BY_LINUX
    assert "changed" in [kind for kind, _ in watched.told]
    (trouble,) = watched.of(NoticeKind.TROUBLE)
    assert trouble.startswith("pcietune is switched off here: /etc/pcietune/disabled exists")


def test_where_pcietune_is_switched_off_it_does_not_begin(tmp_path: Path) -> None:
    watched = Watched(one_switch(tmp_path))
    watched.tree.put("etc/pcietune/disabled", "")
    before = configs(watched.tree)

    with pytest.raises(SwitchedOffError):
        watched.begin()

    assert configs(watched.tree) == before


def test_settings_that_cannot_be_used_keep_it_from_beginning(tmp_path: Path) -> None:
    watched = Watched(one_switch(tmp_path))
    watched.tree.put(SETTINGS, "enforce: apply\nprofile: gpu-rdma")

    with pytest.raises(BadInputError, match="no mode is set"):
        watched.begin()


def test_a_host_without_a_gpu_is_waited_with(tmp_path: Path) -> None:
    watched = Watched(TreeHost(tmp_path), settings="")

    watched.begin()
    watched.run(700)

    assert watched.told == [("watching", "no GPU is here")]


def test_what_waits_for_a_function_in_use_is_not_asked_for_where_nothing_may_be_written(
    tmp_path: Path,
) -> None:
    watched = tuned(one_switch(tmp_path, driver="vfio-pci"), enforce="audit")
    use(watched.tree)()
    lose(watched.tree)()

    watched.run(301)

    assert watched.of(NoticeKind.DEFERRED) == []
    assert watched.status.endswith(", 0 steps wait")


def test_its_memory_does_not_grow(tmp_path: Path) -> None:
    watched = tuned(one_switch(tmp_path))

    def four_hours() -> int:
        for hour in range(4):
            lose(watched.tree, value=(BY_LINUX, 0x0019)[hour % 2])()
            watched.at(1, lambda: None, event(NIC, "bind"), event(NIC_PORT, "change"))
            watched.run(3600)
        watched.told.clear()
        watched.notices.clear()
        gc.collect()
        return sys.getallocatedblocks()

    four_hours()
    before, after = four_hours(), four_hours()

    assert after - before < 1000  # of what Python keeps count of; a look alone takes more


class Crumbling(SysfsHost):
    """A host that a NIC vanishes from at one of the questions about it: each takes one away."""

    left = 0

    def _ask(self, function: PciFunction) -> None:
        Crumbling.left -= str(function.address) == NIC
        if Crumbling.left < 0 and str(function.address) == NIC:
            raise ConfigSpaceError(f"{NIC} vanished while it was looked at")

    def state(self, function: PciFunction) -> FunctionState:
        self._ask(function)
        return super().state(function)

    def state_again(self, function: PciFunction) -> FunctionState:
        self._ask(function)
        return super().state_again(function)

    def config(self, function: PciFunction) -> FileConfigSpace:
        self._ask(function)
        return super().config(function)

    def link(self, function: PciFunction) -> LinkState:
        self._ask(function)
        return super().link(function)


@pytest.mark.parametrize("questions", range(0, 40, 3))
def test_a_function_that_vanishes_at_any_moment_of_a_look_or_repair_is_no_end(
    tmp_path: Path, questions: int
) -> None:
    idle = nic(NIC, below=NIC_PORT, ats=(0x0020, 0x0000))
    watched = tuned(one_switch(tmp_path, instead=[idle]))
    watched.tree.group_type(5, "identity")  # so that the plan asks for its ATS, too
    lose(watched.tree)()

    watched.open_host = lambda: Crumbling(HostFiles(tmp_path, recorded=True))
    Crumbling.left = questions
    watched.run(700)
    watched.open_host = partial(opened, watched.tree)
    watched.run(400)

    assert word(watched.tree, NIC_PORT) == TUNED
