"""What tests ask of a guest that systemd booted."""

from bench import kernel_trace
from bench.guest import Guest
from bench.kernel_trace import Trace


def trace(guest: Guest) -> Trace:
    """Return all that the kernel noted since it started, or since ``forget_trace``."""
    return kernel_trace.parse(guest.read_file(kernel_trace.FILE).decode(errors="backslashreplace"))


def forget_trace(guest: Guest) -> None:
    """Have the kernel note anew."""
    guest.write_file(kernel_trace.FILE, b"")
