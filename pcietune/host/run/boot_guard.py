"""The list of boots that did not come up, which pcietune-boot-attempt.service leaves in /run."""

import os

from pcietune.errors import BadInputError
from pcietune.host.host_files import HostFiles
from pcietune.host.run.run_files import open_run_file
from pcietune.model.boot_guard import BootGuard, guard_of

_ATTEMPTS = "boot-attempts"
_LARGEST = 0x1000  # bytes; the unit leaves ten lines


def read_boot_guard(files: HostFiles, boot_id: str | None) -> BootGuard:
    """Return what the boot-loop guard knows in this boot.

    The list in /run is of this boot, and stays when the boot has come up: what was held back at
    its start is held back until it ends. Where there is none, it cannot be read, or somebody else
    than root could have made it, nothing is known.
    """
    try:
        descriptor = open_run_file(files, _ATTEMPTS, os.O_RDONLY)
        with os.fdopen(descriptor, "rb") as file:
            attempts = file.read(_LARGEST).decode(errors="replace")
    except (OSError, BadInputError):
        attempts = None
    return guard_of(attempts, boot_id)
