"""What shares an IOMMU group with a function, and would be torn from it by giving that away."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from pcietune.address import PciAddress
from pcietune.model.access import HostAccess
from pcietune.model.fabric import Fabric
from pcietune.model.function import FunctionState
from pcietune.model.not_known import NOT_KNOWN


@dataclass(frozen=True, slots=True)
class Mates:
    """The rest of some functions' IOMMU groups.

    Attributes:
        addresses: What else is in them that VMs can be given.
        why_not: What is wrong with the groups, each a phrase about the functions.
    """

    addresses: frozenset[PciAddress] = frozenset()
    why_not: tuple[str, ...] = ()


def mates_of(
    host: HostAccess,
    fabric: Fabric,
    states: Iterable[FunctionState],
    together: Collection[PciAddress],
    offered: Collection[PciAddress],
) -> Mates:
    """Return who shares the groups of functions that go to a VM together.

    Bridges of a group do not count: VFIO takes it beside them. Classes are compared whole, since
    an NVSwitch (0680) is no bridge (0600, 0604).

    Args:
        host: Where the groups come from.
        fabric: The host's functions.
        states: Of the functions.
        together: Their addresses.
        offered: What VMs can be given.
    """
    addresses: set[PciAddress] = set()
    why_not: dict[str, None] = {}
    for state in states:
        group = host.platform().group(state.group)
        if group is None:
            known = state.group is not NOT_KNOWN
            why_not["no IOMMU translates it" if known else "its IOMMU group is not known"] = None
            continue
        for address in group.members:
            other = fabric.functions.get(address)
            if address in together:
                continue
            if address in offered:
                addresses.add(address)
            elif other is None:
                why_not[f"IOMMU group {group.number} also holds {address}, not known"] = None
            elif not (other.is_pci_bridge or other.is_host_bridge):
                why_not[
                    f"IOMMU group {group.number} also holds {address} ({other.id}), which would"
                    " be torn from it"
                ] = None
    return Mates(frozenset(addresses), tuple(why_not))
