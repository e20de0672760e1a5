"""What other VMs have: those that run, and those that are planned."""

from collections.abc import Iterable, Mapping

from pcietune.address import PciAddress
from pcietune.errors import PcietuneError
from pcietune.guest.plan import Plan
from pcietune.guest.stock.of_this_host import check_of_this_host
from pcietune.model.access import HostAccess
from pcietune.model.fabric import Fabric
from pcietune.model.function import PciFunction


def taken_by(fabric: Fabric, plans: Iterable[Plan]) -> dict[PciAddress, str]:
    """Return which functions plans have, and the names of their VMs for a sentence.

    Raises:
        BadInputError: A plan is none of this host.
    """
    taken: dict[PciAddress, str] = {}
    for plan in plans:
        check_of_this_host(plan, fabric)
        for each in plan.functions:
            taken[PciAddress.parse(each.address)] = f"the planned VM {plan.machine.name}"
    return taken


def occupied(
    host: HostAccess,
    fabric: Fabric,
    users: Mapping[PciAddress, str],
    taken: Mapping[PciAddress, str],
) -> dict[str, str]:
    """Return by the location of a topmost switch who has something below it.

    A function that a VFIO user has, or is not known not to have, makes its switch occupied.
    """
    found: dict[str, str] = {}
    for function in fabric.functions.values():
        who = _who(host, function, users, taken)
        top = None if who is None else fabric.topmost_switch(function)
        if who is not None and top is not None:
            found.setdefault(top.location, who)
    return found


def _who(
    host: HostAccess,
    function: PciFunction,
    users: Mapping[PciAddress, str],
    taken: Mapping[PciAddress, str],
) -> str | None:
    if function.address in taken:
        return taken[function.address]
    if function.is_pci_bridge:
        return None
    try:
        state = host.state(function)
    except PcietuneError:  # it vanished
        return None
    return users.get(function.address, "VFIO") if state.in_use_by_vfio else None
