"""What tests ask of a guest that systemd booted."""

from bench import kernel_trace
from bench.guest import Guest
from bench.kernel_trace import Trace

_AGENT = "/usr/bin/python3"  # the first that runs so; pcietune is a script of its own


def trace(guest: Guest, *, since: float = 0) -> Trace:
    """Return what the kernel noted, from a moment on (CLOCK_MONOTONIC, in seconds)."""
    text = guest.read_file(kernel_trace.FILE).decode(errors="backslashreplace")
    return kernel_trace.parse(text).between(since, float("inf"))


def boot_trace(guest: Guest) -> Trace:
    """Return what the kernel noted from its start until the bench's agent began."""
    whole = trace(guest)
    agent = next(ran.time for ran in whole.ran if ran.program == _AGENT)
    return whole.between(0, agent)


def now(guest: Guest) -> float:
    """Return the guest's CLOCK_MONOTONIC, in seconds."""
    return float(
        guest.run("/usr/bin/python3", "-ISc", "import time; print(time.monotonic())").stdout
    )


def driver(guest: Guest, address: str) -> str | None:
    """Return the name of the driver that has a function; None if none has."""
    link = guest.run("readlink", f"/sys/bus/pci/devices/{address}/driver").stdout
    return link.strip().rpartition("/")[2] or None
