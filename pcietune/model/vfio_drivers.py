"""Which driver gives a function to VFIO."""

from dataclasses import dataclass
from fnmatch import fnmatchcase

from pcietune.model.function import PciFunction

VFIO_PCI = "vfio-pci"
"""The driver for all functions that no variant is made for."""

_MODULE = "vfio_pci"  # what vfio-pci is called as a module


def names_vfio_driver(driver: str | None) -> bool:
    """Return whether a driver's name is that of vfio-pci or of a variant: ``mlx5_vfio_pci``."""
    return driver is not None and driver.replace("_", "-").endswith(VFIO_PCI)


@dataclass(frozen=True, slots=True)
class VfioDrivers:
    """The VFIO drivers of the running kernel.

    Attributes:
        aliases: Patterns for a function's ids and the module that is made for it, from the lines
            ``alias vfio_pci:...`` of modules.alias (kernel commit cc6711b0bf36, 5.16).
        unsafe_noiommu: Whether VFIO also takes functions that no IOMMU translates; None if not
            known.
    """

    aliases: tuple[tuple[str, str], ...] = ()
    unsafe_noiommu: bool | None = None

    def driver_for(self, function: PciFunction) -> str:
        """Return the driver that fits best: of the patterns that match, that with fewest ``*``.

        A variant's driver is named as its module; vfio-pci alone is spelt otherwise.
        """
        ids = _alias(function)
        fitting = [(p.count("*"), module) for p, module in self.aliases if fnmatchcase(ids, p)]
        module = min(fitting, default=(0, _MODULE))[1]
        return VFIO_PCI if module == _MODULE else module


def _alias(function: PciFunction) -> str:
    """Return a function's ids as modules.alias spells them (drivers/pci/pci-sysfs.c, modalias)."""
    base, sub, interface = function.class_code.to_bytes(3, "big")
    return (
        f"v{function.vendor:08X}d{function.device:08X}"
        f"sv{function.subsystem_vendor:08X}sd{function.subsystem_device:08X}"
        f"bc{base:02X}sc{sub:02X}i{interface:02X}"
    )
