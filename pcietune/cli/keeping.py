"""What apply and watch leave to the udev rule and its hook: the policy and its stamps."""

import time
from collections.abc import Callable
from functools import cache

from pcietune.cli import show
from pcietune.cli.hosts_own import hosts_own
from pcietune.cli.judging import this_boot
from pcietune.errors import PcietuneError
from pcietune.host.run.keep_policy import keep_early_overrides, keep_policy, read_stamps
from pcietune.host.sysfs import SysfsHost
from pcietune.host.vfio_drivers import read_vfio_drivers
from pcietune.model.function import PciFunction
from pcietune.model.kept_policy import KeptPolicy
from pcietune.tune.audit.audit import Audit
from pcietune.tune.policy.compile import compile_policy
from pcietune.tune.policy.early import early_overrides
from pcietune.tune.policy.stamps import stamps

_IMAGE_IS_OLD = (
    "what an initramfs keeps for VFIO has changed: have its image made anew, by update-initramfs "
    "-u or dracut --force"
)


def vfio_driver_of(host: SysfsHost) -> Callable[[PciFunction], str]:
    """Return what says which VFIO driver a function gets; it looks when it is first asked."""
    drivers = cache(lambda: read_vfio_drivers(host.files))
    return lambda function: drivers().driver_for(function)


def leave_policy(
    host: SysfsHost, audited: Audit, *, enforce: bool, unattended: bool
) -> KeptPolicy | None:
    """Compile the policy from the last audit, under the lock, and keep it with its stamps.

    Args:
        host: Where.
        audited: What was found there after the last write.
        enforce: Whether anything may be written unattended.
        unattended: Whether nobody typed this run, so that what the host uses is only remembered.

    Returns:
        What was kept; None of a recording that does not tell its boot.

    Raises:
        BadInputError: Somebody else than root could have made what is kept.
        NotPermittedError: It cannot be kept.
    """
    if host.recorded and host.platform().boot_id is None:
        return None
    boot_id = this_boot(host)
    now_us = 0 if host.recorded else time.monotonic_ns() // 1000  # a recording has no clock
    policy = compile_policy(
        host,
        audited,
        boot_id=boot_id,
        enforce=enforce,
        driver_of=vfio_driver_of(host),
        hosts_own=hosts_own(host, audited, unattended=unattended),
    )
    found = stamps(host, audited, policy, read_stamps(host.files, boot_id), now_us)
    keep_policy(host.files, policy, found)
    try:
        if keep_early_overrides(host.files, early_overrides(audited, policy)):
            show.note(_IMAGE_IS_OLD)
    except PcietuneError as error:  # of early boot, if / is not writable yet
        show.note(f"{error}: an initramfs made now lacks them")
    return KeptPolicy(policy, tuple(found))
