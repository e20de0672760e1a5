"""Which switch groups an event is about."""

from collections.abc import Sequence

from pcietune.address import PciAddress
from pcietune.model.device_event import DeviceEvent
from pcietune.model.fabric import Fabric
from pcietune.model.function import PciFunction
from pcietune.model.switch_group import SwitchGroup


def concerned_groups(
    events: Sequence[DeviceEvent], fabric: Fabric, groups: Sequence[SwitchGroup]
) -> frozenset[str] | None:
    """Return the names of the groups that the events' functions are in, below or above.

    None if one of the functions was not there at the last look at everything, so that all must be
    looked at anew. Empty if no group has to do with any of them.
    """
    concerned: set[str] = set()
    for address in dict.fromkeys(event.address for event in events):
        function = fabric.functions.get(address)
        if function is None:
            return None
        concerned |= {group.name for group in groups if _is_related(function, address, group.top)}
    return frozenset(concerned)


def _is_related(function: PciFunction, address: PciAddress, top: PciFunction) -> bool:
    return address == top.address or top.address in function.ports or address in top.ports
