"""Which function that a VM shows is which of its plan.

Functions of one id look alike, so it goes by place: first by the way down to it, which new bus
numbers do not change, then by address, by the way below any root bus, and by order.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence

from pcietune.guest.check.location import found_hops, planned_hops
from pcietune.guest.devices import Passed
from pcietune.guest.plan import Plan
from pcietune.model.function import PciFunction

_PlannedKey = Callable[[Passed], Hashable]
_FoundKey = Callable[[PciFunction], Hashable]


def match(plan: Plan, functions: Sequence[PciFunction]) -> Mapping[str, PciFunction]:
    """Return the function that each of the plan's is, by its name; those not there are left out.

    What stands at a planned address with another id is taken for the planned, if that is nowhere.

    Args:
        plan: The plan.
        functions: All of the VM's, in the order of addresses.
    """
    keys: list[tuple[_PlannedKey, _FoundKey]] = [
        (lambda p: (p.id, planned_hops(plan, p)), lambda f: (f.id, found_hops(f))),
        (lambda p: (p.id, p.guest_address), lambda f: (f.id, str(f.address))),
        (lambda p: (p.id, planned_hops(plan, p)[1:]), lambda f: (f.id, found_hops(f)[1:])),
        (lambda p: p.id, lambda f: f.id),
        (lambda p: p.guest_address, lambda f: str(f.address)),
    ]
    matched: dict[str, PciFunction] = {}
    planned = {passed.name: passed for passed in plan.functions}
    free = [function for function in functions if not function.is_pci_bridge]
    for of_planned, of_found in keys:
        for name, passed in planned.items():
            if name in matched:
                continue
            key = of_planned(passed)
            found = next((each for each in free if of_found(each) == key), None)
            if found is not None:
                matched[name] = found
                free.remove(found)
    return matched
