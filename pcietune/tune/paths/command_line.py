"""What the kernel command line tells of a function's addresses where its IOMMU group does not.

It is what the kernel was asked for, and no proof: what is not certain from it is not known.
"""

from pcietune.model.fabric import Fabric
from pcietune.model.function import PciFunction
from pcietune.model.packet import AddressSpace
from pcietune.model.platform import Platform
from pcietune.tune.audit.module_ids import fits

_INTEL, _AMD = 0x8086, 0x1022
_SWITCHES = {_INTEL: "intel_iommu", _AMD: "amd_iommu"}
_PASSTHROUGH = "iommu.passthrough"
_TRUE = ("1", "y", "t", "on")  # as kstrtobool (lib/kstrtox.c), which reads no further
_IDS = "vfio-pci.ids"


def addresses_by_command_line(
    platform: Platform, fabric: Fabric, function: PciFunction, *, vfio: bool | None
) -> AddressSpace:
    """Return what the addresses mean that a function is given; UNKNOWN if that is not certain.

    Args:
        platform: Whose command line it is.
        fabric: The functions.
        function: It.
        vfio: Whether a VFIO driver has it, which the command line does not tell; None if not known.
    """
    if vfio is None and names_for_vfio(platform, function):
        return AddressSpace.UNKNOWN
    if _is_off(platform, _vendor_above(fabric, function)):
        return AddressSpace.PHYSICAL
    known = vfio is not None and _passes_through(platform)
    return AddressSpace.PHYSICAL if known else AddressSpace.UNKNOWN


def names_for_vfio(platform: Platform, function: PciFunction) -> bool:
    """Return whether ``vfio-pci.ids=`` names a function, which then goes to a VM."""
    ids = (value.lower() for key, value in _words(platform) if key.replace("_", "-") == _IDS)
    return any(fits(entry, function) for each in ids for entry in each.split(","))


def redirects_off(platform: Platform) -> str | None:
    """Return the ports of the last ``pci=disable_acs_redir=``, the one that the kernel keeps."""
    key = "disable_acs_redir="
    found = [word.removeprefix(key) for word in platform.pci_options if word.startswith(key)]
    return found[-1] if found else None


def _words(platform: Platform) -> list[tuple[str, str]]:
    """Return name and value of all words, without quotes."""
    words = (platform.cmdline or "").replace('"', "").split()
    return [(key, value) for key, _, value in (word.partition("=") for word in words)]


def _vendor_above(fabric: Fabric, function: PciFunction) -> int | None:
    """Return whose root port is above a function; None if none is known."""
    top = fabric.functions.get(function.ports[0]) if function.ports else None
    return None if top is None else top.vendor


def _is_off(platform: Platform, vendor: int | None) -> bool:
    """Return whether no IOMMU is on: ``off`` of the parameter that this processor's listens to.

    ``iommu=off`` is x86's (arch/x86/kernel/pci-dma.c). Of Intel's the last of on and off counts
    (intel_iommu_setup); AMD's has no on (parse_amd_iommu_options).
    """
    switch = _SWITCHES.get(vendor or 0)
    if switch is None:
        return False
    if "off" in platform.options_of("iommu"):
        return True
    asked = [word for word in platform.options_of(switch) if word in ("on", "off")]
    return bool(asked) and (asked[-1] == "off" or (vendor == _AMD and "off" in asked))


def _passes_through(platform: Platform) -> bool:
    """Return whether default domains are identity domains, by the last word that tells.

    ``iommu=pt`` and ``nopt`` are x86's; ``iommu.passthrough=`` is of all (drivers/iommu/iommu.c).
    """
    asked = False
    for key, value in _words(platform):
        if key == "iommu":
            for option in value.split(","):
                asked = {"pt": True, "nopt": False}.get(option, asked)
        elif key == _PASSTHROUGH:
            asked = value.lower().startswith(_TRUE)
    return asked
