"""One PCI function as the kernel describes it; no register is read for any of this."""

from dataclasses import dataclass

from pcietune.address import PciAddress
from pcietune.model.location import location
from pcietune.model.not_known import NotKnown

_NOT_TOLD = 0xFFFF  # of a text without them; no function that answers has such an ID
_PCI_BRIDGE = 0x0604
_HOST_BRIDGE = 0x0600


@dataclass(frozen=True, slots=True)
class PciFunction:
    """What one function is and where: read for every function of a host.

    Attributes:
        address: Its address now.
        ports: Addresses of the bridges above it, root port first; empty on a root bus.
        vendor: Vendor ID, 16 bits; ffff where a text does not tell it.
        device: Device ID, 16 bits; ffff where a text does not tell it.
        subsystem_vendor: Subsystem Vendor ID, 16 bits.
        subsystem_device: Subsystem ID, 16 bits.
        class_code: Base class, sub-class and programming interface, 24 bits.
        driver: Name of the bound driver; None if there is none, NOT_KNOWN of a dump.
    """

    address: PciAddress
    ports: tuple[PciAddress, ...]
    vendor: int
    device: int
    subsystem_vendor: int
    subsystem_device: int
    class_code: int
    driver: str | NotKnown | None

    @property
    def id(self) -> str:
        """Vendor and Device ID as lspci -n has them, ``10de:20f3``; ``????`` where not told."""
        return f"{_id(self.vendor)}:{_id(self.device)}"

    @property
    def is_id_told(self) -> bool:
        """Whether Vendor and Device ID are known, so that profiles may go by them."""
        return _NOT_TOLD not in (self.vendor, self.device)

    @property
    def location(self) -> str:
        """The path from the root port, as the kernel's ``pci=`` options take it."""
        return location(self.ports, self.address)

    @property
    def device_class(self) -> int:
        """Base class and sub-class, 16 bits: to be compared whole (0680 is not 0600)."""
        return self.class_code >> 8

    @property
    def is_pci_bridge(self) -> bool:
        """Whether this is a PCI-to-PCI bridge, as every root and switch port is."""
        return self.device_class == _PCI_BRIDGE

    @property
    def is_host_bridge(self) -> bool:
        """Whether this is a host bridge function."""
        return self.device_class == _HOST_BRIDGE

    @property
    def slot(self) -> tuple[int, int, int]:
        """Domain, Bus and Device Number: what all functions of one device share."""
        return (self.address.domain, self.address.bus, self.address.device)


def _id(number: int) -> str:
    return "????" if number == _NOT_TOLD else f"{number:04x}"


@dataclass(frozen=True, slots=True)
class LinkState:
    """The link of a function, as sysfs has it.

    Attributes:
        speed: As sysfs prints it (``16.0 GT/s PCIe``); None where it is unknown.
        width: In lanes; None where it is unknown.
        max_speed: The most that the function is capable of, printed alike.
        max_width: In lanes.
    """

    speed: str | None
    width: int | None
    max_speed: str | None
    max_width: int | None


@dataclass(frozen=True, slots=True)
class FunctionState:
    """What sysfs says of a function's state: read only for functions that matter.

    Attributes:
        group: Number of its IOMMU group; None if no IOMMU translates it, NOT_KNOWN of a dump.
        iommu_unit: Name of the IOMMU unit that serves it, such as ``dmar0``; None if unknown.
        numa_node: -1 if firmware did not say; None if not known.
        enable_count: How often a driver or VFIO enabled it (sysfs ``enable``); None if unreadable.
        physical_function: For a VF, its PF.
        virtual_functions: For a PF, its VFs in order.
        vfio: Whether its driver made a VFIO device of it (``vfio-dev/`` below it); None if not
            known.
    """

    group: int | NotKnown | None
    iommu_unit: str | None
    numa_node: int | None
    enable_count: int | None
    physical_function: PciAddress | None
    virtual_functions: tuple[PciAddress, ...]
    vfio: bool | None

    @property
    def in_use_by_vfio(self) -> bool:
        """Whether a VM or another VFIO user holds it open; what is not known counts as use.

        A VFIO driver alone says only that it is bound; the first open enables the
        device, the last close disables it (drivers/vfio/pci/vfio_pci_core.c).
        """
        return self.vfio is not False and self.enable_count != 0
