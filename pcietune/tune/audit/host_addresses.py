"""Whose translations may be a guest's addresses, by which a switch would send them astray.

DirectTrans routes a translated request by its address, so that it must be one of the host. A
RISC-V IOMMU may answer with guest physical addresses instead (T2GPA), and nothing tells whether it
does. Source: riscv-non-isa/riscv-iommu, issue 720.
"""

from collections.abc import Iterable

from pcietune.errors import ConfigSpaceError
from pcietune.model.access import HostAccess
from pcietune.model.function import PciFunction
from pcietune.model.platform import IommuKind
from pcietune.tune.vfio_use import named


def why_astray(host: HostAccess, below: Iterable[PciFunction]) -> str | None:
    """Return why translated requests of functions must climb; None if they may go across.

    Args:
        host: What to ask.
        below: The functions below a port; an IOMMU that is not known is taken for one of those
            that answer with addresses of the host.
    """
    unsure = {
        name for name, unit in host.platform().iommu_units.items() if unit.kind is IommuKind.OTHER
    }
    if not unsure:
        return None
    asking = [each for each in below if not each.is_pci_bridge and _unit(host, each) in unsure]
    if not asking:
        return None
    return (
        f"whether the IOMMU answers {named(asking)} with addresses of the host is not known, and"
        " only such may go straight across a switch"
    )


def _unit(host: HostAccess, function: PciFunction) -> str | None:
    """Return a function's IOMMU; None if it has none, or vanished."""
    try:
        return host.state(function).iommu_unit
    except ConfigSpaceError:
        return None
