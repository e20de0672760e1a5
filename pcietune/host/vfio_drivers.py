"""The VFIO drivers that the running kernel has."""

from pcietune.host.host_files import HostFiles
from pcietune.host.platform import OSRELEASE
from pcietune.host.uses.lines import lines
from pcietune.model.vfio_drivers import VfioDrivers

NOIOMMU = "sys/module/vfio/parameters/enable_unsafe_noiommu_mode"

_ALIASES = "lib/modules/{}/modules.alias"
_ALIAS = "alias vfio_pci:"


def read_vfio_drivers(files: HostFiles) -> VfioDrivers:
    """Return them; without modules.alias, which a recording lacks, vfio-pci is all there is."""
    kernel = files.text(OSRELEASE)
    told = lines(files, _ALIASES.format(kernel)) if kernel else None
    rows = [line.removeprefix(_ALIAS).split() for line in told or () if line.startswith(_ALIAS)]
    return VfioDrivers(tuple((r[0], r[1]) for r in rows if len(r) == 2), _noiommu(files))


def _noiommu(files: HostFiles) -> bool | None:
    """Return whether functions without an IOMMU are taken, too; not while VFIO is not loaded."""
    if not files.exists(NOIOMMU):
        return False if files.complete else None
    text = files.text(NOIOMMU)
    return None if text is None else text == "Y"
