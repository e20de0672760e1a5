"""Tells the host of a plan from its VM."""

from collections.abc import Mapping

from pcietune.address import PciAddress
from pcietune.guest.plan import Plan
from pcietune.model.function import PciFunction

_RED_HAT = 0x1B36  # of QEMU's own bridges (hw/pci/pci.h, PCI_VENDOR_ID_REDHAT)
_OTHERS = ("104c:8232", "104c:8233", "8086:3420", "8086:7075")  # of parts that QEMU imitates


def is_its_host(plan: Plan, functions: Mapping[PciAddress, PciFunction]) -> bool:
    """Return whether these are the functions of the host that a plan is for.

    There each planned function is at its place on the host, below a port that is none of QEMU's;
    in a VM places may happen to be the same, but all ports are of QEMU's.
    """
    by_location = {function.location: function for function in functions.values()}
    if not plan.functions:
        return False
    for passed in plan.functions:
        function = by_location.get(passed.path)
        if function is None or function.id != passed.id or not _below_real(function, functions):
            return False
    return True


def _below_real(function: PciFunction, functions: Mapping[PciAddress, PciFunction]) -> bool:
    """Return whether a function is below a port that QEMU does not emulate."""
    above = [functions[port] for port in function.ports if port in functions]
    return any(port.vendor != _RED_HAT and port.id not in _OTHERS for port in above)
