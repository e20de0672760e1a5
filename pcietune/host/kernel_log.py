"""The kernel's log of this boot, as far as its buffer still has it."""

import os
import re

from pcietune.host.host_files import HostFiles
from pcietune.model.kernel_log import LogLine

KMSG = "dev/kmsg"

_LARGEST_RECORD = 0x4000  # bytes; a read with less room fails (kernel/printk: 8,192)
_RECORD = re.compile(r"([0-9]{1,10}),[0-9]+,([0-9]{1,20}),[^;]*;(.*)")  # ABI/testing/dev-kmsg
_LEVEL_BITS = 3  # of the first number; the facility is above, 0 is the kernel itself


def read_kernel_log(files: HostFiles) -> tuple[LogLine, ...] | None:
    """Return what the kernel itself logged, oldest first.

    None if this user may not read it, or of a recording, which has none.
    """
    if files.recorded:
        return None
    try:
        descriptor = os.open(files.path(KMSG), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return _lines(_all_of(descriptor))
    except OSError:
        return None
    finally:
        os.close(descriptor)


def _all_of(descriptor: int) -> bytes:
    """Return the whole buffer: each read gives one record, and none is waited for."""
    chunks = []
    while True:
        try:
            chunk = os.read(descriptor, _LARGEST_RECORD)
        except BlockingIOError:
            break
        except BrokenPipeError:  # overwritten meanwhile: the next read goes on behind the gap
            continue
        if not chunk:
            break
        chunks.append(chunk)
    return b"".join(chunks)


def _lines(log: bytes) -> tuple[LogLine, ...]:
    found = []
    for text in log.decode(errors="replace").split("\n"):
        match = _RECORD.fullmatch(text)  # what belongs to a record begins with a space
        if match is not None and int(match[1]) >> _LEVEL_BITS == 0:
            found.append(LogLine(int(match[2]), match[3]))
    return tuple(found)
