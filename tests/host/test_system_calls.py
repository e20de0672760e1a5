"""What the kernel is asked for, as strace saw it: the order of disk and bus, and widths."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from trees.machines import one_switch

PROGRAM = """
import sys
from pathlib import Path

from pcietune.host.host_files import HostFiles
from pcietune.host.sysfs import SysfsHost
from pcietune.host.run.undo_log import UndoLog
from pcietune.model.undo import RegisterChange
from pcietune.registers.acs import Acs
from pcietune.registers.fields import MaskedWrite

files = HostFiles(Path(sys.argv[1]), recorded=True)
host = SysfsHost(files)
port = host.functions()[3]
acs = Acs.find(host.config(port))
change = RegisterChange("group", port.location, port.address, port.id, 0x106, 0x40, 0, 0x40)
with UndoLog.open(files, "boot") as log:
    log.begin(change)
    host.write(port, MaskedWrite(offset=0x106, width=2, value=0x40, mask=0x40))
    log.settle("group", kept=True)
"""
TRACED = "trace=write,fsync,pread64,pwrite64,rename"
CALL = re.compile(r"(?P<name>\w+)\(\d+<(?P<path>[^>]*)>(?:.*, (?P<width>\d+), \d+\) )?")


@pytest.fixture
def calls(tmp_path: Path) -> list[tuple[str, str, str | None]]:
    """Return name, file and width of each call that read or wrote one of the host's files."""
    tree = one_switch(tmp_path / "host")
    trace = tmp_path / "trace"
    command = ["strace", "-y", "-e", TRACED, "-o", trace, sys.executable, "-c", PROGRAM, tree.root]
    subprocess.run(list(map(str, command)), check=True)
    found = [CALL.match(line) for line in trace.read_text().splitlines()]
    return [
        (call["name"], Path(call["path"]).name, call["width"])
        for call in found
        if call is not None and str(tree.root) in call["path"]
    ]


def test_a_change_is_recorded_on_the_disk_before_it_is_made(
    calls: list[tuple[str, str, str | None]],
) -> None:
    writes = [(name, file) for name, file, _ in calls if name != "pread64"]

    assert writes == [
        ("write", "undo.jsonl.new"),  # the header
        ("fsync", "undo.jsonl.new"),
        ("fsync", "pcietune"),  # the directory
        ("write", "undo.jsonl"),  # what is about to be changed
        ("fsync", "undo.jsonl"),
        ("pwrite64", "config"),
        ("write", "undo.jsonl"),  # how it ended
        ("fsync", "undo.jsonl"),
    ]


def test_configuration_space_is_read_and_written_by_registers(
    calls: list[tuple[str, str, str | None]],
) -> None:
    widths = {(name, width) for name, file, width in calls if file == "config"}

    assert widths <= {("pread64", "1"), ("pread64", "2"), ("pread64", "4"), ("pwrite64", "2")}
    assert ("pwrite64", "2") in widths
