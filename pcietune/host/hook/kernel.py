"""Small files of the kernel's, and its log."""

import os

WARNING, INFO = 4, 6  # levels as syslog and the kernel's log number them
_STDERR = 2
_LONGEST = 4096  # bytes; a kernel command line has fewer, and so has a sysfs attribute
_LONGEST_LOGGED = (
    900  # bytes; the kernel takes a line of 976 (kernel/printk/printk.c, LOG_LINE_MAX)
)


def read_line(path: str) -> str | None:
    """Return what a small file holds, without white space around it; None if unreadable."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            return os.read(descriptor, _LONGEST).decode(errors="replace").strip()
        finally:
            os.close(descriptor)
    except OSError:
        return None


def tell(root: str, level: int, text: str) -> None:
    """Write a line to stderr and to the kernel's log, or do without.

    udevd keeps what its programs say to itself, but for their exit codes; the journal reads the
    kernel's log.

    Args:
        root: What stands for the host's ``/``.
        level: WARNING or INFO.
        text: The line.
    """
    line = f"pcietune: {text}\n".encode(errors="replace")
    _write(_STDERR, line)
    _add(f"{root}/dev/kmsg", f"<{level}>".encode() + line[:_LONGEST_LOGGED])


def _add(path: str, line: bytes) -> None:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return
    _write(descriptor, line)
    os.close(descriptor)


def _write(descriptor: int, line: bytes) -> None:
    try:
        os.write(descriptor, line)
    except OSError:
        return
