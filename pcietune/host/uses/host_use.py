"""What a live host uses its own functions for."""

from pcietune.errors import NotPermittedError
from pcietune.host.host_files import HostFiles
from pcietune.host.uses.disks import read_disks
from pcietune.host.uses.interfaces import read_default_routes, read_interfaces
from pcietune.host.uses.slots import read_slots
from pcietune.model.protection import HostUse


def read_host_use(files: HostFiles) -> HostUse:
    """Return what the host uses its functions for, and what of that cannot be found out."""
    try:
        disks, not_known = read_disks(files)
        interfaces, slots = read_interfaces(files), read_slots(files)
    except NotPermittedError as error:
        return HostUse(not_known=(f"what the host uses its functions for: {error}",))
    routes = read_default_routes(files)
    if routes is None:
        not_known.append("which interface has the default route: routes are not readable")
    lost = [name for name in routes or () if name not in interfaces]
    not_known += [f"which function is behind {name}, which has the default route" for name in lost]
    return HostUse(interfaces, slots, disks, routes or (), tuple(not_known))
