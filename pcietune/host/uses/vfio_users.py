"""Who has functions open by VFIO, told without opening anything below /dev/vfio.

A VM that starts at the moment at which somebody else has its group open fails.
"""

from collections.abc import Iterable, Iterator, Mapping

from pcietune.address import PciAddress
from pcietune.errors import NotPermittedError
from pcietune.host.functions import DEVICES
from pcietune.host.host_files import HostFiles
from pcietune.model.vfio_user import VfioUser

_GROUPS = "/dev/vfio/"
_CDEVS = "/dev/vfio/devices/"


def vfio_users(files: HostFiles, addresses: Iterable[PciAddress]) -> Mapping[PciAddress, VfioUser]:
    """Return the process that has each of these functions open; a look at every process.

    Those that nobody has are left out, and so are those of processes that may not be looked at:
    whoever is not root sees no others' VMs. Of several, as of a helper that a VM hands its files
    to, the one with the lowest number stands for all.

    Args:
        files: The host's files; a recording has no processes.
        addresses: Functions that a VFIO driver is bound to.
    """
    nodes = dict(sorted(_open_nodes(files), key=lambda found: -found[1].pid))
    found = {}
    for address in addresses:
        path = f"{DEVICES}/{address}"
        cdevs = files.names(f"{path}/vfio-dev") if files.is_directory(f"{path}/vfio-dev") else []
        group = files.link_name(f"{path}/iommu_group")
        own = [f"{_CDEVS}{name}" for name in cdevs]
        own += [] if group is None else [f"{_GROUPS}{group}"]
        user = next((nodes[node] for node in own if node in nodes), None)
        if user is not None:
            found[address] = user
    return found


def _open_nodes(files: HostFiles) -> Iterator[tuple[str, VfioUser]]:
    """Yield every node of VFIO that a process has open, and the process."""
    for process in filter(str.isdecimal, files.names("proc")):
        try:
            descriptors = files.names(f"proc/{process}/fd")
        except NotPermittedError:
            continue
        targets = {files.link(f"proc/{process}/fd/{each}") or "" for each in descriptors}
        for node in sorted(target for target in targets if target.startswith(_GROUPS)):
            name = files.text(f"proc/{process}/comm") or "a process"
            yield node, VfioUser(int(process), name, iommufd=node.startswith(_CDEVS))
