"""Tells the host of a plan from its VM."""

from collections.abc import Mapping, Sequence

from pcietune.address import PciAddress
from pcietune.guest.check.location import PORT_IDS, ports_above
from pcietune.guest.plan import Plan
from pcietune.model.function import PciFunction


def is_its_host(plan: Plan, functions: Mapping[PciAddress, PciFunction]) -> bool:
    """Return whether these are the functions of the host that a plan is for.

    There each planned function is at its place on the host, and not below ports of QEMU's as in
    the VM, whose places may happen to be the same.
    """
    by_location = {function.location: function for function in functions.values()}
    if not plan.functions:
        return False
    for passed in plan.functions:
        function = by_location.get(passed.path)
        planned = [PORT_IDS[port.kind] for port in ports_above(plan, passed)]
        if function is None or function.id != passed.id or _above(function, functions) == planned:
            return False
    return True


def _above(function: PciFunction, functions: Mapping[PciAddress, PciFunction]) -> Sequence[str]:
    return [functions[port].id for port in function.ports if port in functions]
