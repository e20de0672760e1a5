"""libudev as it is: events in udevd's own format, and more of them than a socket holds."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.bench

CHECKOUT = Path(__file__).parents[2]
ALONE = ("unshare", "--net", "--mount", "sh", "-c", 'mount -t tmpfs tmpfs /run && exec "$@"', "sh")


def test_every_event_of_a_pci_function_is_heard_and_a_flood_is_known_to_have_lost_some() -> None:
    heard = subprocess.run(
        [*ALONE, sys.executable, "-m", "bench.udev_sender"],
        check=True,
        capture_output=True,
        text=True,
        cwd=CHECKOUT / "tests",
        env={"PYTHONPATH": str(CHECKOUT), "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"},
        timeout=120,
    ).stdout

    assert heard.splitlines() == [
        "0000:24:00.0 add None",
        "0000:24:00.0 bind None",
        "0000:24:00.0 unbind None",
        "0000:24:00.0 remove None",
        "0000:24:00.0 change FAILED_RECOVERY",
        "lost True",
        "0000:24:00.0 bind None",
    ]
