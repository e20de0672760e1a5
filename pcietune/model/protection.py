"""What is never touched: what an administrator protects, and what the host itself stands on."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from pcietune.address import PciAddress


class Selector(StrEnum):
    """How the settings say which functions they mean."""

    LOCATION = "location"
    ADDRESS = "address"
    SLOT = "slot"
    NETDEV = "netdev"
    MAC = "mac"
    CLASS = "class"


@dataclass(frozen=True, slots=True)
class Protect:
    """A wish of the settings that functions be left alone.

    Attributes:
        by: How it selects them.
        name: The location, address, slot, interface, MAC address or class.
        reason: Why; None if nobody says.
    """

    by: Selector
    name: str
    reason: str | None = None

    def __str__(self) -> str:
        return f"{self.by} {self.name}"


@dataclass(frozen=True, slots=True)
class HostUse:
    """What the host uses its own functions for, and what it calls them.

    Attributes:
        interfaces: By a network interface's name the functions behind it: several of a bond.
        slots: By a physical slot's name its domain, bus and device as sysfs has them,
            ``0000:24:00``.
        disks: By function what is on the block devices behind it: ``/``, ``swap``.
        default_routes: Interfaces that a default route leaves by.
        not_known: A sentence on each of these that could not be found out.
    """

    interfaces: Mapping[str, tuple[PciAddress, ...]] = field(default_factory=dict)
    slots: Mapping[str, str] = field(default_factory=dict)
    disks: Mapping[PciAddress, tuple[str, ...]] = field(default_factory=dict)
    default_routes: tuple[str, ...] = ()
    not_known: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Protection:
    """What is never touched on a host.

    Attributes:
        why: By function the reason, as a phrase: ``carries /``.
        by_settings: Those of them that the settings name.
        unused: Wishes that select nothing.
        undecided: Wishes of which nobody can tell here what they select.
        not_known: A sentence on each use of the host that could not be found out.
    """

    why: Mapping[PciAddress, str] = field(default_factory=dict)
    by_settings: frozenset[PciAddress] = frozenset()
    unused: tuple[Protect, ...] = ()
    undecided: tuple[Protect, ...] = ()
    not_known: tuple[str, ...] = ()

    def covers(self, address: PciAddress) -> bool:
        """Return whether a function is never touched."""
        return address in self.why
