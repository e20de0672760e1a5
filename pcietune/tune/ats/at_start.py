"""Whether a VM's functions really have ATS on, once it has opened them.

The kernel turns ATS on when VFIO attaches a domain that translates. With a container that is before
a function is opened, and with iommufd after it (drivers/vfio/iommufd.c); a reset on the way lets it
read as all ones for a moment. So what is not on is looked at again for some seconds.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pcietune.address import PciAddress
from pcietune.errors import ConfigSpaceError, PcietuneError
from pcietune.model.access import HostAccess
from pcietune.model.ats_seen import AtsSeen, Sight
from pcietune.model.function import PciFunction
from pcietune.registers.ats import ENABLE_MASK, Ats

_POLL_S = 0.25


@dataclass(frozen=True, slots=True)
class Patience:
    """How long something is waited for, by a clock in seconds.

    Attributes:
        longest_s: Until functions are open.
        settle_s: From then on, until ATS is on.
        now: Returns the time.
        sleep: Waits so many seconds.
    """

    longest_s: float
    settle_s: float
    now: Callable[[], float]
    sleep: Callable[[float], None]


def wait_for_ats(
    look: Callable[[], HostAccess], functions: Sequence[PciFunction], patience: Patience
) -> list[AtsSeen]:
    """Return what is seen of each function's ATS, once all are open or patience ends.

    Args:
        look: Returns the host, nothing of which was read yet.
        functions: What the VM is given.
        patience: How long to wait.
    """
    host = look()
    began = patience.now()
    waiting = [function for function in functions if not is_open(host, function)]
    while waiting and patience.now() - began < patience.longest_s:
        patience.sleep(_POLL_S)
        waiting = [function for function in waiting if not is_open(host, function)]
    unopened = {function.address for function in waiting}
    opened = patience.now()
    seen = _see_all(look(), functions, unopened)
    while _may_change(seen) and patience.now() - opened < patience.settle_s:
        patience.sleep(_POLL_S)
        seen = _see_all(look(), functions, unopened)
    return seen


def is_open(host: HostAccess, function: PciFunction) -> bool:
    """Return whether VFIO has a function open now; what is not known is not."""
    try:
        state = host.state_again(function)
    except ConfigSpaceError:
        return False
    return bool(state.vfio) and bool(state.enable_count)


def _see_all(
    host: HostAccess, functions: Sequence[PciFunction], unopened: set[PciAddress]
) -> list[AtsSeen]:
    return [
        AtsSeen(function, Sight.NOT_OPEN) if function.address in unopened else _see(host, function)
        for function in functions
    ]


def _see(host: HostAccess, function: PciFunction) -> AtsSeen:
    try:
        ats = Ats.find(host.config(function))
        if ats is None:
            return AtsSeen(function, Sight.NO_CAPABILITY)
        control = ats.control
    except PcietuneError as error:
        return AtsSeen(function, Sight.UNREADABLE, error=error)
    if control & ENABLE_MASK:
        return AtsSeen(function, Sight.ON, control)
    ended = not is_open(host, function)  # with its VM, and then the kernel turns ATS off
    return AtsSeen(function, Sight.NOT_OPEN) if ended else AtsSeen(function, Sight.OFF, control)


def _may_change(seen: Sequence[AtsSeen]) -> bool:
    return any(each.sight in (Sight.OFF, Sight.UNREADABLE) for each in seen)
