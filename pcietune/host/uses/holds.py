"""What the host's own software has of a function, so that no driver may be taken from it."""

from collections.abc import Iterator

from pcietune.errors import NotPermittedError
from pcietune.host.function_state import number_of_virtual_functions
from pcietune.host.functions import DEVICES
from pcietune.host.uses.look import Look
from pcietune.host.uses.network_holds import network_holds
from pcietune.host.uses.open_devices import open_devices
from pcietune.host.uses.rdma_holds import rdma_holds
from pcietune.host.uses.sysfs_path import behind
from pcietune.model.function import PciFunction
from pcietune.model.hold import Hold, HoldKind

_BLOCK_DEVICES = "sys/class/block"


def read_holds(look: Look, function: PciFunction) -> tuple[Hold, ...]:
    """Return what the host's software has of a function, as this look sees it.

    Nothing can stand on a function that no driver has, but its virtual functions.
    """
    files = look.files
    directory = behind(files, f"{DEVICES}/{function.address}") or f"{DEVICES}/{function.address}"
    count = number_of_virtual_functions(files, directory)
    virtual = (Hold(HoldKind.VFS, f"has {count} virtual functions"),) if count else ()
    if files.link_name(f"{directory}/driver") is None and files.complete:
        return virtual
    if files.recorded:
        return (*virtual, Hold(HoldKind.NOT_KNOWN, "may be used by the host: that is not recorded"))
    try:
        found = tuple(_holds(look, function, directory))
    except NotPermittedError as error:
        found = (Hold(HoldKind.NOT_KNOWN, f"may be used by the host: {error}"),)
    return (*virtual, *dict.fromkeys(found))


def _holds(look: Look, function: PciFunction, directory: str) -> Iterator[Hold]:
    yield from network_holds(look, directory)
    yield from rdma_holds(look, directory)
    yield from _disks(look, function, directory)
    yield from open_devices(look.files, directory, look.nodes)


def _disks(look: Look, function: PciFunction, directory: str) -> Iterator[Hold]:
    """Yield what is on its block devices, and what they are part of: LVM, RAID, encryption."""
    used, _ = look.disks()
    for place in used.get(function.address, ()):
        yield Hold(HoldKind.DISK, f"carries {place}")
    for name in look.below(_BLOCK_DEVICES, directory):
        path = look.links(_BLOCK_DEVICES)[name]
        for holder in look.files.names(f"{path}/holders"):
            yield Hold(HoldKind.DISK, f"has {name}, which is part of {holder}")
