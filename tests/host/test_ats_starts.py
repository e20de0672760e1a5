"""What was seen of ATS at VM starts is appended to a log that does not grow without end."""

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from threading import Barrier

import pytest
from host.hindered import files_of_at_most
from trees.host import TreeHost
from trees.machines import one_switch
from tune.vm_start import function

from pcietune.errors import BadInputError, ConfigSpaceError, NotPermittedError
from pcietune.host.host_files import HostFiles
from pcietune.host.run.ats_starts import keep_starts
from pcietune.model.ats_seen import AtsSeen, Sight

NIC = "0000:24:00.0"
NOW = datetime(2026, 12, 2, 9, 15, 7, tzinfo=UTC)
LOG = "var/lib/pcietune/ats-at-start.jsonl"


@pytest.fixture
def tree(tmp_path: Path) -> TreeHost:
    tree = one_switch(tmp_path)
    (tmp_path / "var/lib").mkdir(parents=True)
    return tree


def _keep(tree: TreeHost, *seen: AtsSeen, vm: str | None = "vm0") -> None:
    files = HostFiles(tree.root, recorded=False)
    keep_starts(files, seen, vm=vm, boot_id="3d1f3a2e", now=NOW)


def test_a_line_tells_when_in_which_boot_and_of_what(tree: TreeHost) -> None:
    _keep(tree, AtsSeen(function(tree, NIC), Sight.ON, 0x8000))

    assert json.loads((tree.root / LOG).read_text()) == {
        "time": "2026-12-02T09:15:07Z",
        "boot_id": "3d1f3a2e",
        "vm": "vm0",
        "address": NIC,
        "location": "0000:20:01.0/00.0/04.0/00.0",
        "id": "15b3:101b",
        "ats_control": "0x8000",
        "result": "Enable+",
    }


def test_a_vm_of_whatever_name_has_one_line(tree: TreeHost) -> None:
    _keep(tree, AtsSeen(function(tree, NIC), Sight.ON, 0x8000), vm="caf\udce9\n")

    (line,) = (tree.root / LOG).read_text().splitlines()
    assert json.loads(line)["vm"] == "caf\\udce9\n"


def test_what_was_not_read_has_no_register(tree: TreeHost) -> None:
    unread = AtsSeen(
        function(tree, NIC), Sight.UNREADABLE, error=ConfigSpaceError("it does not answer")
    )

    _keep(tree, unread, vm=None)

    line = json.loads((tree.root / LOG).read_text())
    assert (line["ats_control"], line["result"], line["vm"]) == (None, "unreadable", None)


def test_later_starts_are_appended(tree: TreeHost) -> None:
    seen = AtsSeen(function(tree, NIC), Sight.OFF, 0)

    _keep(tree, seen, seen)
    _keep(tree, seen)

    assert len((tree.root / LOG).read_text().splitlines()) == 3


def test_a_large_log_is_put_aside_and_one_earlier_is_kept(tree: TreeHost) -> None:
    tree.put(LOG, "x" * 0x100000)
    seen = AtsSeen(function(tree, NIC), Sight.OFF, 0)

    _keep(tree, seen)
    _keep(tree, seen)

    assert (tree.root / f"{LOG}.1").stat().st_size > 0x100000
    assert len((tree.root / LOG).read_text().splitlines()) == 1


def test_vms_that_start_at_once_lose_no_line_and_no_earlier_log(tree: TreeHost) -> None:
    earlier = "x" * (0x100000 - 100)
    tree.put(LOG, earlier)
    seen = AtsSeen(function(tree, NIC), Sight.OFF, 0)
    together = Barrier(8)

    def start(number: int) -> None:
        together.wait()
        _keep(tree, seen, vm=f"vm{number}")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(start, range(8)))

    first, *lines = (tree.root / f"{LOG}.1").read_text().splitlines()
    lines += (tree.root / LOG).read_text().splitlines()
    assert first == earlier
    assert sorted(json.loads(line)["vm"] for line in lines) == [f"vm{n}" for n in range(8)]


def test_a_disk_that_becomes_full_leaves_whole_lines(tree: TreeHost) -> None:
    seen = AtsSeen(function(tree, NIC), Sight.OFF, 0)
    _keep(tree, seen)
    whole = (tree.root / LOG).read_text()

    with files_of_at_most(len(whole) + 20), pytest.raises(NotPermittedError):
        _keep(tree, seen)

    assert (tree.root / LOG).read_text() == whole


def test_somebody_elses_file_is_not_written(tree: TreeHost) -> None:
    tree.put("etc/shadow", "secret")
    tree.link(LOG, "etc/shadow")

    with pytest.raises((BadInputError, NotPermittedError)):
        _keep(tree, AtsSeen(function(tree, NIC), Sight.ON, 0x8000))

    assert (tree.root / "etc/shadow").read_text() == "secret\n"


def test_a_full_disk_is_told(tree: TreeHost) -> None:
    with files_of_at_most(8), pytest.raises(NotPermittedError, match="cannot keep what was seen"):
        _keep(tree, AtsSeen(function(tree, NIC), Sight.ON, 0x8000))
