"""Sees ATS once a VM has opened its functions, and keeps what was seen."""

import time
from collections.abc import Sequence
from datetime import UTC, datetime

from pcietune.errors import BadInputError, NotPermittedError
from pcietune.host.run.ats_starts import keep_starts
from pcietune.host.sysfs import SysfsHost
from pcietune.model.ats_seen import AtsSeen
from pcietune.model.function import PciFunction
from pcietune.tune.ats.at_start import Patience, wait_for_ats

_SETTLE_S = 5.0


def check_may_look(host: SysfsHost, *, record: bool) -> None:
    """Return if this user may look at this host, and keep what is seen if that is asked for.

    Raises:
        BadInputError: It is a recording, and what is seen there is nothing for this host's log.
        NotPermittedError: Not root.
    """
    if record and host.recorded:
        raise BadInputError(
            "--record: the log is this machine's, and what is seen is of a recorded host",
            hint="leave out --record or --from",
        )
    if not host.privileged:
        raise NotPermittedError("only root may read ATS registers", hint="run pcietune as root")


def look_at_start(
    host: SysfsHost, functions: Sequence[PciFunction], longest_s: float
) -> list[AtsSeen]:
    """Return what is seen; nothing is waited for in a recording, which does not change.

    Args:
        host: The host.
        functions: What the VM is given.
        longest_s: How long to wait until they are open, in seconds.
    """
    if host.recorded:
        return wait_for_ats(lambda: host, functions, Patience(0, 0, time.monotonic, time.sleep))
    patience = Patience(longest_s, _SETTLE_S, time.monotonic, time.sleep)
    return wait_for_ats(lambda: SysfsHost(host.files), functions, patience)


def keep_seen(host: SysfsHost, seen: Sequence[AtsSeen], vm: str | None) -> None:
    """Append what was seen to the host's log; errors as ``keep_starts``."""
    boot_id = host.platform().boot_id
    keep_starts(host.files, seen, vm=vm, boot_id=boot_id, now=datetime.now(UTC))
