"""Whether the kernel's own peer-to-peer DMA trusts a root complex to route between two functions.

It decides for drivers of the host (drivers/pci/p2pdma.c); VFIO does not ask it, nor do drivers that
map their peers' BARs by themselves.
"""

from dataclasses import dataclass

from pcietune.address import PciAddress
from pcietune.model.fabric import Fabric
from pcietune.model.function import PciFunction

_SAME_BRIDGE_ONLY = frozenset({"8086:3c00", "8086:3c01", "8086:2f00", "8086:2f01"})
_LISTED = _SAME_BRIDGE_ONLY | {
    "8086:2030",
    "8086:2031",
    "8086:2032",
    "8086:2033",
    "8086:2020",
    "8086:09a2",
    "1022:1450",
    "1022:15d0",
    "1022:1480",
    "1022:1630",
}
"""pci_p2pdma_whitelist. AMD's were in it before all CPUs since Zen came to be trusted by their
family (cpu_supports_p2pdma), which PCI does not tell."""

_AMD = 0x1022


@dataclass(frozen=True, slots=True)
class RootComplex:
    """What the kernel takes for the host bridges above two functions.

    Attributes:
        ids: Of the first function on each of the two root buses; fewer if one is not known, or
            both are the same.
        trusted: Whether the kernel lets peer-to-peer DMA pass; None if that is not known.
    """

    ids: tuple[str, ...]
    trusted: bool | None


def root_complex(fabric: Fabric, one: PciFunction, other: PciFunction) -> RootComplex:
    """Return what the kernel makes of the root complex between two functions."""
    buses = [_root_bus(one), _root_bus(other)]
    bridges = [_first_on(fabric, bus) for bus in dict.fromkeys(buses)]
    known = [bridge for bridge in bridges if bridge is not None]
    ids = tuple(dict.fromkeys(bridge.id for bridge in known))
    if len(known) < len(bridges):
        return RootComplex(ids, None)
    several = len(bridges) > 1
    if all(each.id in _LISTED and not (several and each.id in _SAME_BRIDGE_ONLY) for each in known):
        return RootComplex(ids, trusted=True)
    may_be_zen = all(each.vendor == _AMD for each in known)
    return RootComplex(ids, None if may_be_zen else False)


def _root_bus(function: PciFunction) -> tuple[int, int]:
    top: PciAddress = function.ports[0] if function.ports else function.address
    return (top.domain, top.bus)


def _first_on(fabric: Fabric, bus: tuple[int, int]) -> PciFunction | None:
    return next(
        (f for f in fabric.functions.values() if (f.address.domain, f.address.bus) == bus), None
    )
