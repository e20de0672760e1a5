"""A kill at every step: each file is as it was or as it is to be; the next run ends the work."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from host.boot_loader.roots import WORDS, debian, insert, remove, with_kernel_install

from pcietune.host.host_files import HostFiles
from pcietune.model.boot_loader import LoaderName

_CHECKOUT = Path(__file__).parents[3]
_KINDS = "openat,write,fchmod,fsync,rename,renameat2,unlink,unlinkat,mkdir"
_CALL = re.compile(r'(\w+)\((?:AT_FDCWD(?:<[^>]*>)?, )?(?:\d+<([^>]*)>|"([^"]*)")')
SITE = "root=/dev/sda1 pci=realloc,config_acs=1x111x1@0000:60:01.0 ro\n"


def _run(action: str, name: LoaderName, root: Path, *strace: str) -> int:
    command = ["strace", "-f", *strace, sys.executable, "-m", "host.boot_loader.roots"]
    environment = {**os.environ, "PYTHONPATH": f"{_CHECKOUT}:{_CHECKOUT / 'tests'}"}
    return subprocess.run(
        [*command, action, name, str(root)], check=False, env=environment, capture_output=True
    ).returncode


def _strikes(action: str, name: LoaderName, root: Path) -> Iterator[tuple[str, int]]:
    """Yield the calls by which something changes below the root, by name and number."""
    trace = root.with_name("trace")
    assert _run(action, name, root, "-y", "-e", f"trace={_KINDS}", "-o", str(trace)) == 0
    counts: dict[str, int] = {}
    for line in trace.read_text().splitlines():
        call = _CALL.search(line)
        if call is None:
            continue
        counts[call[1]] = counts.get(call[1], 0) + 1
        below = (call[2] or call[3]).startswith(str(root))
        if below and (call[1] != "openat" or "O_CREAT" in line):
            yield call[1], counts[call[1]]


def _site(root: Path, name: LoaderName) -> HostFiles:
    return debian(root) if name is LoaderName.GRUB else with_kernel_install(root, SITE)


FILES = {
    LoaderName.GRUB: "etc/default/grub.d/50-pcietune.cfg",
    LoaderName.SYSTEMD_BOOT: "etc/kernel/cmdline",
}


def _text(root: Path, name: LoaderName) -> str | None:
    file = root / FILES[name]
    return file.read_text() if file.exists() else None


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("action", ["insert", "remove"])
def test_a_kill_at_any_step_leaves_old_or_new_and_a_way_back(
    tmp_path: Path, name: LoaderName, action: str
) -> None:
    steps = {"insert": insert, "remove": remove}
    begun, root = tmp_path / "begun", tmp_path / "root"
    files = _site(begun, name)
    without = _text(begun, name)
    if action == "remove":
        insert(files, name)
    before = _text(begun, name)
    shutil.copytree(begun, root)
    strikes = list(_strikes(action, name, root))
    after = _text(root, name)
    assert len(strikes) > 2
    assert before != after

    for call, number in strikes:
        shutil.rmtree(root)
        shutil.copytree(begun, root)
        inject = f"inject={call}:signal=KILL:when={number}"
        _run(action, name, root, "-e", f"trace={call}", "-e", inject, "-o", "/dev/null")

        host = HostFiles(root, recorded=False)
        assert _text(root, name) in (before, after), (call, number)
        kept = root / f"{FILES[name]}.before-pcietune"
        assert not kept.exists() or kept.read_text() in (without, before)
        steps[action](host, name)
        assert _text(root, name) == after, (call, number)
        insert(host, name)
        assert WORDS[0] in str(_text(root, name)).replace('\\"', "")
        remove(host, name)
        assert _text(root, name) == without, (call, number)
        assert not list(root.rglob(".*.pcietune-*")), (call, number)
