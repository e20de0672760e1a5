"""Whether a function may have slowed down its link because nothing uses it."""

from pcietune.model.access import HostAccess
from pcietune.model.function import PciFunction
from pcietune.model.not_known import NotKnown

_SLEEPING = ("D1", "D2", "D3hot", "D3cold")


def why_idle(host: HostAccess, function: PciFunction) -> str | None:
    """Return why ``function`` may be idle, None if it is at work as far as the kernel knows.

    No register is read. A GPU may still idle by its driver's own judgement, which nobody tells.

    Raises:
        ConfigSpaceError: The function vanished.
    """
    power = host.attribute(function, "power_state")
    if power in _SLEEPING:
        return f"it is in {power}"
    if host.attribute(function, "power/runtime_status") == "suspended":
        return "it is suspended"
    return None if function.is_pci_bridge else _why_unused(host, function)


def _why_unused(host: HostAccess, function: PciFunction) -> str | None:
    if isinstance(function.driver, NotKnown):
        return "whether a driver has it is not known"
    if function.driver is None:
        return "no driver has it"
    if host.state(function).enable_count == 0:
        return f"{function.driver} has not enabled it"
    return None
