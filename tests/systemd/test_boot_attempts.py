"""The boot-loop guard's two units, their commands run by a real shell on directories of ours."""

import shlex
import subprocess
from pathlib import Path

import pytest
from systemd.unit_files import values

from pcietune.host.host_files import HostFiles
from pcietune.host.run.boot_guard import read_boot_guard

ATTEMPT, DONE = "pcietune-boot-attempt.service", "pcietune-boot-done.service"
FIRST = "11111111-0c43-4a5b-9a52-2f5d7f4c8e01"
SECOND = "22222222-0c43-4a5b-9a52-2f5d7f4c8e01"
THIRD = "33333333-0c43-4a5b-9a52-2f5d7f4c8e01"


class Booting:
    """A host that boots again and again."""

    def __init__(self, root: Path) -> None:
        self._root = root
        for directory in ("proc/sys/kernel/random", "etc/pcietune", "run"):
            (root / directory).mkdir(parents=True)

    def begin(self, boot_id: str) -> None:
        """Boot: /run is empty, and the unit has made pcietune's directory there."""
        (self._root / "proc/sys/kernel/random/boot_id").write_text(f"{boot_id}\n")
        run = self._root / "run/pcietune"
        if run.exists():
            (run / "boot-attempts").unlink()
        else:
            run.mkdir()
        self._command(ATTEMPT)

    def come_up(self) -> None:
        """Reach multi-user.target."""
        self._command(DONE)

    def failed_boots(self, boot_id: str) -> int | None:
        """Return what pcietune then knows."""
        return read_boot_guard(HostFiles(self._root, recorded=False), boot_id).failed_boots

    def _command(self, unit: str) -> None:
        (command,) = values(unit, "ExecStart")
        for directory in ("/proc/", "/etc/", "/run/"):
            command = command.replace(directory, f"{self._root}{directory}")
        subprocess.run(shlex.split(command), check=True, umask=0o022)


@pytest.fixture
def host(tmp_path: Path) -> Booting:
    return Booting(tmp_path)


def test_two_boots_that_do_not_come_up_hold_back_the_third(host: Booting) -> None:
    host.begin(FIRST)
    assert host.failed_boots(FIRST) == 0
    host.begin(SECOND)
    assert host.failed_boots(SECOND) == 1
    host.begin(THIRD)
    assert host.failed_boots(THIRD) == 2


def test_a_boot_that_comes_up_ends_the_row(host: Booting) -> None:
    host.begin(FIRST)
    host.begin(SECOND)
    host.come_up()
    host.begin(THIRD)

    assert host.failed_boots(THIRD) == 0


def test_what_is_held_back_stays_so_when_the_boot_has_come_up(host: Booting) -> None:
    host.begin(FIRST)
    host.begin(SECOND)
    host.begin(THIRD)
    host.come_up()

    assert host.failed_boots(THIRD) == 2


def test_a_soft_reboot_is_the_same_boot(host: Booting) -> None:
    host.begin(FIRST)
    host.begin(FIRST)
    host.begin(FIRST)

    assert host.failed_boots(FIRST) == 0


def test_a_host_that_never_comes_up_leaves_a_list_that_can_be_read(host: Booting) -> None:
    for number in range(200):
        host.begin(f"{number:08x}-0c43-4a5b-9a52-2f5d7f4c8e01")

    assert host.failed_boots("000000c7-0c43-4a5b-9a52-2f5d7f4c8e01") == 9
