"""Whatever happens in whatever order: what watch never does."""

import tempfile
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

from cli.watched import SETTINGS, Watched, event
from hypothesis import given, settings
from hypothesis import strategies as st
from trees.host import TreeHost
from trees.machines import one_switch
from tune.faults import configs, set_word, word
from tune.judged import NIC, NIC_PORT, ROOT_PORT

from pcietune.model.device_event import ErrorEvent
from pcietune.tune.watch.notice import NoticeKind

LOST = (0x001D, 0x0000, 0x0019, 0x005D)
DIRECT = 0x0040


def put(tree: TreeHost, address: str, name: str, text: str) -> None:
    (tree.directory(address) / name).write_text(f"{text}\n")


def _write_settings(tree: TreeHost, enforce: str) -> None:
    tree.put(SETTINGS, f"mode: vm\nenforce: {enforce}\nprofile: gpu-rdma")


def _lose(value: int, watched: Watched) -> None:
    set_word(watched.tree, NIC_PORT, value)


Act = Callable[[Watched], None]
ACTS: dict[str, Act] = {
    **{f"the port reads {value:#06x}": partial(_lose, value) for value in LOST},
    "VFIO opens it": lambda w: put(w.tree, NIC, "enable", "1"),
    "VFIO closes it": lambda w: put(w.tree, NIC, "enable", "0"),
    "the port sleeps": lambda w: put(w.tree, NIC_PORT, "power/runtime_status", "suspended"),
    "the port wakes": lambda w: put(w.tree, NIC_PORT, "power/runtime_status", "active"),
    "enforce is audit": lambda w: _write_settings(w.tree, "audit"),
    "enforce is apply": lambda w: _write_settings(w.tree, "apply"),
    "the settings break": lambda w: _write_settings(w.tree, "["),
    "bound": lambda w: w.at(0, lambda: None, event(NIC, "bind")),
    "added": lambda w: w.at(0, lambda: None, event(NIC_PORT, "add")),
    "an error": lambda w: w.at(0, lambda: None, event(ROOT_PORT, "change", ErrorEvent.FAILED)),
    "events are lost": lambda w: w.at(0, lost=True),
}


def _may_be_written(tree: TreeHost) -> bool:
    """Return whether the port may be written at this moment, by the files themselves."""
    in_use = (tree.directory(NIC) / "enable").read_text() != "0\n"
    sleeps = (tree.directory(NIC_PORT) / "power/runtime_status").read_text() == "suspended\n"
    return not in_use and not sleeps and "enforce: apply" in (tree.root / SETTINGS).read_text()


@settings(max_examples=30)
@given(st.lists(st.tuples(st.sampled_from(sorted(ACTS)), st.sampled_from([0.5, 3, 400]))))
def test_nothing_is_written_in_use_asleep_or_unasked_and_only_what_the_profile_sets(
    story: list[tuple[str, float]],
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        watched = Watched(one_switch(Path(directory), driver="vfio-pci"))
        watched.begin()
        for act, then_s in story:
            ACTS[act](watched)
            before = configs(watched.tree)
            word_before = word(watched.tree, NIC_PORT)

            watched.run(then_s)

            if not _may_be_written(watched.tree):
                assert configs(watched.tree) == before
            assert word(watched.tree, NIC_PORT) | DIRECT == word_before | DIRECT
            set_word(watched.tree, NIC_PORT, word_before)  # all else must be as it was, too
            assert configs(watched.tree) == before


@settings(max_examples=10)
@given(st.lists(st.floats(0.1, 200), min_size=20, max_size=60))
def test_however_often_it_is_undone_it_is_repaired_a_dozen_times_an_hour_at_most(
    waits: list[float],
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        watched = Watched(one_switch(Path(directory)))
        watched.begin()
        times: list[float] = []
        for wait in waits:
            set_word(watched.tree, NIC_PORT, 0x001D)
            watched.at(0, lambda: None, event(NIC_PORT, "change"))
            count = len(watched.of(NoticeKind.REPAIRED))
            watched.run(wait)
            times += [watched.clockwork.now] * (len(watched.of(NoticeKind.REPAIRED)) - count)

    hours = Counter(int(time // 3600) for time in times)
    assert max(hours.values(), default=0) <= 14  # some of the hour before may be counted with it
