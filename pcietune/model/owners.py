"""Who else on a host gives functions to VFIO or sets their registers: facts, judged elsewhere."""

from dataclasses import dataclass, field
from enum import StrEnum

from pcietune.address import PciAddress


class OwnerKind(StrEnum):
    """Programs and options that pcietune cannot order or that work against it."""

    MODULE_IDS = "vfio-pci-ids"  # ids= of vfio-pci, in modprobe.d or on the kernel command line
    BUILT_IN = "vfio-pci-built-in"
    DRIVERCTL = "driverctl"
    LIBVIRT_MANAGED = "libvirt-managed"
    VFIO_MANAGER = "nvidia-vfio-manager"
    NIC_OPERATOR = "nic-configuration-operator"
    SRIOV_OPERATOR = "sriov-network-operator"


@dataclass(frozen=True, slots=True)
class Owner:
    """One of them, as found.

    Attributes:
        kind: Which.
        where: The file, word or attribute that says so, without what is private in it.
        ids: Vendor and Device IDs that it means, ``10de:20f3``; empty if it names none.
        addresses: Functions that it means; empty if it names none.
        says: What it asks for, where that matters: a driver's name, or the daemon that does.
    """

    kind: OwnerKind
    where: str
    ids: tuple[str, ...] = ()
    addresses: tuple[PciAddress, ...] = ()
    says: str = ""


@dataclass(frozen=True, slots=True)
class Owners:
    """All that were found.

    Attributes:
        found: In a stable order.
        not_known: A sentence on each place that could not be looked into.
    """

    found: tuple[Owner, ...] = ()
    not_known: tuple[str, ...] = field(default=())
