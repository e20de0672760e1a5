"""Whether an IOMMU keeps a function to what is mapped for it, whatever ports do."""

from enum import StrEnum

from pcietune.model.fabric import Fabric
from pcietune.model.function import FunctionState, PciFunction
from pcietune.model.packet import AddressSpace
from pcietune.model.platform import Platform
from pcietune.tune.paths.command_line import addresses_by_command_line


class Keeping(StrEnum):
    """What an IOMMU does about a function's requests."""

    KEPT = "translated"
    IDENTITY = "identity"  # by design: the host's own drivers are trusted with all memory
    NOTHING = "no IOMMU"
    NOT_KNOWN = "not known"


def keeping(
    platform: Platform, fabric: Fabric, function: PciFunction, state: FunctionState
) -> Keeping:
    """Return what an IOMMU does about a function's requests that come to it.

    VFIO attaches a domain of its own, whatever the group's type, but for the groups that it makes
    where there is no IOMMU (vfio_noiommu_group_alloc, drivers/vfio/group.c).
    """
    group = platform.group(state.group)
    if state.group is None or (group is not None and group.is_without_iommu):
        return Keeping.NOTHING
    if group is None:
        return _by_command_line(platform, fabric, function, state)
    kind = group.type or ""
    if kind.startswith("DMA") or kind == "blocked":
        return Keeping.KEPT
    if state.vfio and (kind == "identity" or state.iommu_unit is not None):
        return Keeping.KEPT
    return Keeping.IDENTITY if kind == "identity" else Keeping.NOT_KNOWN


def _by_command_line(
    platform: Platform, fabric: Fabric, function: PciFunction, state: FunctionState
) -> Keeping:
    """Return what the kernel was asked for, as far as that is certain."""
    off = addresses_by_command_line(platform, fabric, function, vfio=None)
    if off is AddressSpace.PHYSICAL:
        return Keeping.NOTHING
    asked = addresses_by_command_line(platform, fabric, function, vfio=state.vfio)
    passes = asked is AddressSpace.PHYSICAL and state.vfio is False
    return Keeping.IDENTITY if passes else Keeping.NOT_KNOWN
