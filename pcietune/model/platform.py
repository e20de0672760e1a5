"""What a host is apart from its functions: firmware names, kernel, IOMMU units and groups."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from pcietune.address import PciAddress
from pcietune.model.dmar import Dmar
from pcietune.model.not_known import NotKnown


class IommuKind(StrEnum):
    """Families of IOMMU that differ in how they come to enable ATS."""

    INTEL = "intel"
    AMD = "amd"
    ARM = "arm"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class IommuUnit:
    """One IOMMU.

    Attributes:
        name: As below /sys/class/iommu: ``dmar0``, ``ivhd1``, ``smmu3.0x...``.
        kind: Its family.
        device_tlb: Whether it answers translation requests of devices; None if not known.
            Intel: bit 2 of ``ecap``; AMD: bit 24 of ``cap``, which every unit of the host must
            have (drivers/iommu/amd/iommu.c, amd_iommu_iotlb_sup); ARM: False before SMMUv3, for
            which the kernel has no ATS (drivers/iommu/arm/arm-smmu).
        scalable: Whether an Intel one is capable of scalable mode (bit 43 of ``ecap``); None if
            not known.
    """

    name: str
    kind: IommuKind
    device_tlb: bool | None
    scalable: bool | None = None


@dataclass(frozen=True, slots=True)
class IommuGroup:
    """One of the kernel's IOMMU groups.

    Attributes:
        number: Its name below /sys/kernel/iommu_groups.
        type: Of its default domain: ``DMA``, ``DMA-FQ``, ``identity``, ``blocked`` ...; None if
            unreadable. It does not say what VFIO attached.
        members: In the order of addresses.
        name: What a driver named it; mostly None.
    """

    number: int
    type: str | None
    members: tuple[PciAddress, ...]
    name: str | None = None

    @property
    def is_without_iommu(self) -> bool:
        """Whether VFIO made it where no IOMMU is (drivers/vfio/group.c)."""
        return self.name == "vfio-noiommu"

    @property
    def translates(self) -> bool | None:
        """Whether the default domain translates addresses; None if its type is unreadable."""
        return None if self.type is None else self.type.startswith("DMA")


class Lockdown(StrEnum):
    """The kernel's lockdown mode (/sys/kernel/security/lockdown)."""

    NONE = "none"
    INTEGRITY = "integrity"
    CONFIDENTIALITY = "confidentiality"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Platform:
    """A host apart from its functions.

    Attributes:
        dmi: ``sys_vendor``, ``product_name``, ``board_name``, ``bios_version`` ...: only those
            that could be read, and no serial number.
        kernel: Kernel release, as ``uname -r`` prints it; None if unreadable.
        boot_id: Random for each boot; None if unreadable.
        cmdline: The kernel command line; None if unreadable.
        lockdown: UNKNOWN if securityfs is not mounted or not readable.
        iommu_units: By name.
        groups: By number; empty without an IOMMU, None if not known.
        dmar: What Intel's firmware says of ATS; None if that is not readable, or there is none.
        root_complex_ats: By PCI segment, whether ARM's firmware says that its root complex has
            ATS (table IORT); None if that is not readable, or there is none.
        damaged_tables: Of the firmware's tables about ATS, those that make no sense, and why.
        numa_nodes: How many NUMA nodes have CPUs; None if unreadable.
    """

    dmi: Mapping[str, str]
    kernel: str | None
    boot_id: str | None
    cmdline: str | None
    lockdown: Lockdown
    iommu_units: Mapping[str, IommuUnit]
    groups: Mapping[int, IommuGroup] | None
    dmar: Dmar | None = None
    root_complex_ats: Mapping[int, bool] | None = None
    damaged_tables: Mapping[str, str] = field(default_factory=dict)
    numa_nodes: int | None = None

    @property
    def release(self) -> tuple[int, int] | None:
        """Major and minor number of the kernel release; None if it is unreadable or has none."""
        numbers = (self.kernel or "").split(".")[:2]
        if len(numbers) < 2 or not all(number.isdecimal() for number in numbers):
            return None
        return (int(numbers[0]), int(numbers[1]))

    def group(self, number: int | NotKnown | None) -> IommuGroup | None:
        """Return the group of this number; None if there is none, or it is not known."""
        if self.groups is None or number is None or isinstance(number, NotKnown):
            return None
        return self.groups.get(number)

    @property
    def pci_options(self) -> tuple[str, ...]:
        """The comma-separated options of every ``pci=`` word on the kernel command line."""
        return self.options_of("pci")

    def options_of(self, parameter: str) -> tuple[str, ...]:
        """Return the comma-separated options of every such word on the kernel command line."""
        words = (self.cmdline or "").split()
        return tuple(
            option
            for word in words
            if word.startswith(f"{parameter}=")
            for option in word.removeprefix(f"{parameter}=").split(",")
        )
