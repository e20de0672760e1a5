"""How boots and guests end: well, badly, and with their parent."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from bench.boot import booted
from bench.errors import GuestDiedError
from bench.machine import load_machine

pytestmark = pytest.mark.bench

BARE = load_machine("bare")
TESTS = Path(__file__).parents[1]


def test_a_panic_of_a_guest_that_had_booted_is_a_failure_with_its_console() -> None:
    with booted(BARE) as guest:
        with pytest.raises(GuestDiedError, match="Kernel panic - not syncing: sysrq triggered"):
            guest.run("sh", "-c", "echo c > /proc/sysrq-trigger")

        with pytest.raises(GuestDiedError):
            guest.run("true")


def test_a_killed_qemu_is_noticed_at_once() -> None:
    with booted(BARE) as guest:
        guest.run("sh", "-c", "sleep 0.5; echo still here > /dev/console &")
        os.kill(guest.qemu.pid, signal.SIGKILL)
        started = time.monotonic()

        with pytest.raises(GuestDiedError, match="exit status is -9"):
            guest.run("sleep", "50")

        assert time.monotonic() - started < 5


def test_an_early_panic_is_tried_again_twice_and_then_reported() -> None:
    machine = msgspec.structs.replace(BARE, append=["rdinit=/absent", "root=/dev/absent"])

    with (
        pytest.raises(GuestDiedError, match=r"(?s)attempt 3 of 3: .*Unable to mount root fs"),
        booted(machine),
    ):
        pass


def test_qemu_ends_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    program = (
        "from bench.boot import booted; from bench.machine import load_machine; import time\n"
        "with booted(load_machine('bare')) as guest:\n"
        "    print(guest.qemu.pid, flush=True); time.sleep(600)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=TESTS,
        env=dict(os.environ) | {"TMPDIR": str(tmp_path)},  # it cannot clean up
        stdout=subprocess.PIPE,
        text=True,
    ) as parent:
        assert parent.stdout is not None
        qemu = int(parent.stdout.readline())

        parent.kill()

    deadline = time.monotonic() + 5
    while _running(qemu) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _running(qemu)


def test_a_test_that_fails_prints_the_end_of_the_guests_console(tmp_path: Path) -> None:
    module = tmp_path / "test_failing.py"
    module.write_text(
        "import pytest\n"
        "@pytest.mark.machine('bare')\n"
        "def test_failing(guest):\n"
        "    guest.run('sh', '-c', 'echo last words > /dev/console')\n"
        "    assert False\n"
    )

    session = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "bench.conftest", "-p", "no:cacheprovider", module],
        check=False,
        cwd=tmp_path,
        env=dict(os.environ) | {"PYTHONPATH": str(TESTS)},
        capture_output=True,
        text=True,
    )

    assert session.returncode == pytest.ExitCode.TESTS_FAILED
    assert "End of the guest's console" in session.stdout
    assert "last words" in session.stdout


def _running(pid: int) -> bool:
    """Say whether a process runs; one that has ended and waits to be reaped does not."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return status.rpartition(")")[2].split()[0] not in "ZX"
