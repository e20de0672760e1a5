"""Tells the host of a plan from its VM."""

from collections.abc import Mapping

from pcietune.address import PciAddress
from pcietune.guest.check.location import PORT_IDS
from pcietune.guest.plan import Plan
from pcietune.model.function import PciFunction


def is_its_host(plan: Plan, functions: Mapping[PciAddress, PciFunction]) -> bool:
    """Return whether these are the functions of the host that a plan is for.

    There each planned function is at its place on the host, and not below ports of QEMU's, as in
    any VM, where places may happen to be the same.
    """
    by_location = {function.location: function for function in functions.values()}
    if not plan.functions:
        return False
    for passed in plan.functions:
        function = by_location.get(passed.path)
        if function is None or function.id != passed.id or _is_emulated(function, functions):
            return False
    return True


def _is_emulated(function: PciFunction, functions: Mapping[PciAddress, PciFunction]) -> bool:
    """Return whether a function is below a port of QEMU's."""
    above = {functions[port].id for port in function.ports if port in functions}
    return not above.isdisjoint(PORT_IDS.values())
