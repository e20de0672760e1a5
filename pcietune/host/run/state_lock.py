"""One writer at a time of what is kept in /var/lib/pcietune.

Not the host's lock: a VM that starts is not to wait until apply has ended.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager

from pcietune.host.host_files import HostFiles
from pcietune.host.run.run_files import STATE, make_run_directory, open_run_file

_LOCK = ".lock"


@contextmanager
def state_locked(files: HostFiles) -> Iterator[None]:
    """Make the directory, unless it is there, and hold its lock, which ends with the process.

    To be held for no longer than a read and a write: whoever comes waits without an end.

    Raises:
        BadInputError: Somebody else than root could have made the lock or the directory.
        OSError: There can be no lock.
    """
    make_run_directory(files, STATE)
    descriptor = open_run_file(files, _LOCK, os.O_RDWR | os.O_CREAT, STATE)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
