"""Whatever call of a hook the kernel fails, and wherever it is killed, nothing is lost or claimed.

Each call that changes something fails or is the last one, and each kind of look at a file fails.
After that no bit beside the wanted one has changed, the undo record knows of it if it did, a stamp
stands only where all is as wanted, and the next hook finishes what this one did not.
"""

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hook.events import Told, event, finish, hook, leave, stamp, start
from trees.host import TreeHost
from trees.machines import one_switch
from tune.faults import set_word, word
from tune.judged import GPU_PORT, NIC, NIC_PORT, ROOT_PORT

from pcietune.errors import ExitCode
from pcietune.host.host_files import HostFiles
from pcietune.host.run.undo_log import read_undo_record
from pcietune.model.undo import Outcome, UndoRecord

BY_LINUX, TUNED = 0x1D, 0x5D
KINDS = (
    *("openat", "read", "pread64", "write", "pwrite64", "fsync", "ftruncate", "flock"),
    *("rename", "unlink", "readlink", "lstat", "newfstatat", "getdents64"),
)
CHANGING = ("write", "pwrite64", "fsync", "ftruncate", "flock", "rename", "unlink")
KILLED = -9
_CALL = re.compile(r'(\w+)\((?:AT_FDCWD(?:<[^>]*>)?, )?(?:\d+<([^>]*)>|"([^"]*)")')


@dataclass(frozen=True)
class Fault:
    """A system call that is struck.

    Attributes:
        name: As the kernel has it.
        number: Which of this name, from 1.
        what: What becomes of it, as strace takes it.
    """

    name: str
    number: int
    what: str

    @property
    def strace(self) -> list[str]:
        inject = f"inject={self.name}:{self.what}:when={self.number}"
        return ["strace", "-qq", "-o", "/dev/null", "-e", f"trace={self.name}", "-e", inject]


def fresh(root: Path) -> TreeHost:
    """Return a host whose NIC was just added."""
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir()
    tree = one_switch(root)
    leave(tree)
    return tree


def faults(tree: TreeHost, trace: Path) -> Iterator[Fault]:
    """Yield a failure of, and a kill at, every call for a file of the host, as it goes well."""
    options = ["strace", "-qq", "-y", "-e", f"trace={','.join(KINDS)}", "-o", str(trace)]
    told = finish(start(tree.root, event(tree, "add", NIC), under=options))
    assert told.exit_code == ExitCode.OK
    counts: dict[str, int] = {}
    seen: set[tuple[str, str]] = set()
    for line in trace.read_text().splitlines():
        call = _CALL.match(line)
        if call is None:
            continue
        name, opened, named = call.groups()
        path = opened or named or ""
        counts[name] = counts.get(name, 0) + 1
        if not path.startswith(str(tree.root)):
            continue
        if name in CHANGING:
            yield Fault(name, counts[name], "signal=KILL")
        if name in CHANGING or (name, path) not in seen:
            yield Fault(name, counts[name], "error=EIO")
        if name == "write":
            yield Fault(name, counts[name], "error=ENOSPC")
        seen.add((name, path))


def record_of(tree: TreeHost) -> UndoRecord | None:
    return read_undo_record(HostFiles(tree.root, recorded=True))


def check(tree: TreeHost, told: Told, fault: Fault) -> None:
    """Say what is not as it must be after a fault."""
    now = word(tree, NIC_PORT)
    assert now in (BY_LINUX, TUNED), fault
    assert (word(tree, GPU_PORT), word(tree, ROOT_PORT)) == (BY_LINUX, BY_LINUX), fault
    record = record_of(tree)
    outcomes = [] if record is None else [change.outcome for change in record.changes]
    if now == TUNED:
        assert outcomes in ([Outcome.BEGUN], [Outcome.KEPT]), fault
    else:
        assert Outcome.KEPT not in outcomes, fault
    stamped = stamp(tree, NIC) is not None
    assert not stamped or now == TUNED, fault
    assert told.exit_code == KILLED or told.exit_code in list(ExitCode), (fault, told)
    assert "Traceback" not in told.stderr, (fault, told)
    if told.exit_code == ExitCode.OK and now == TUNED:
        assert stamped, fault


@pytest.mark.parametrize("part", range(4))
def test_a_hook_that_is_struck_leaves_nothing_that_is_not_so(tmp_path: Path, part: int) -> None:
    root = tmp_path / "host"
    struck = list(faults(fresh(root), tmp_path / "trace"))[part::4]
    assert len(struck) > 20
    for fault in struck:
        tree = fresh(root)

        told = finish(start(root, event(tree, "add", NIC), under=fault.strace))

        check(tree, told, fault)
        again = hook(root, event(tree, "add", NIC))
        assert again.exit_code == ExitCode.OK, (fault, again)
        assert word(tree, NIC_PORT) == TUNED, fault
        assert stamp(tree, NIC) is not None, fault


def test_a_write_that_the_port_ignores_is_undone_and_told(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    leave(tree)
    trace = ["strace", "-qq", "-o", "/dev/null", "-e", "inject=pwrite64:retval=2:when=1"]

    told = finish(start(tmp_path, event(tree, "add", NIC), under=trace))

    assert told.exit_code == ExitCode.ROLLED_BACK
    assert "wrote 0x0040 under mask 0x0040 to ACSCtl (0x001d), but it reads 0x001d" in told.stderr
    record = record_of(tree)
    assert record is not None
    assert [change.outcome for change in record.changes] == [Outcome.UNDONE]
    assert stamp(tree, NIC) is None
    set_word(tree, NIC_PORT, BY_LINUX)
