"""What other VMs have: those that run, and those that are planned."""

from collections.abc import Iterable, Mapping

from pcietune.address import PciAddress
from pcietune.errors import BadInputError
from pcietune.guest.plan import Plan
from pcietune.guest.stock.of_this_host import check_of_this_host
from pcietune.guest.stock.reading import state_of
from pcietune.model.access import HostAccess
from pcietune.model.fabric import Fabric
from pcietune.model.function import PciFunction


def taken_by(fabric: Fabric, plans: Iterable[Plan]) -> dict[PciAddress, str]:
    """Return which functions plans have, and the names of their VMs for a sentence.

    Raises:
        BadInputError: A plan is none of this host, or two have one function.
    """
    vms: dict[str, str] = {}
    for plan in plans:
        check_of_this_host(plan, fabric)
        for each in plan.functions:
            if each.address in vms:
                raise BadInputError(
                    f"{each.address} is in the plans of two VMs: {vms[each.address]} and"
                    f" {plan.machine.name}",
                    hint="leave out the --taken whose plan does not hold any more",
                )
            vms[each.address] = plan.machine.name
    return {PciAddress.parse(address): f"the planned VM {vm}" for address, vm in vms.items()}


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
        top = None if function.is_pci_bridge else fabric.topmost_switch(function)
        if top is None or top.location in found:
            continue
        who = _who(host, function, users, taken)
        if who is not None:
            found[top.location] = who
    return found


def _who(
    host: HostAccess,
    function: PciFunction,
    users: Mapping[PciAddress, str],
    taken: Mapping[PciAddress, str],
) -> str | None:
    if function.address in taken:
        return taken[function.address]
    state = state_of(host, function)
    used = state is not None and state.in_use_by_vfio
    return users.get(function.address, "VFIO") if used else None
