"""What the host's own software has of a function, so that no driver may be taken from it."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from pcietune.errors import NotPermittedError
from pcietune.host.function_state import number_of_virtual_functions
from pcietune.host.functions import DEVICES
from pcietune.host.host_files import HostFiles
from pcietune.host.uses.disks import read_disks
from pcietune.host.uses.netlink import Dump, dump
from pcietune.host.uses.network_holds import network_holds
from pcietune.host.uses.open_devices import open_devices, open_nodes
from pcietune.host.uses.rdma_holds import rdma_holds
from pcietune.host.uses.sysfs_path import behind
from pcietune.model.function import PciFunction
from pcietune.model.hold import Hold, HoldKind

_BLOCK_DEVICES = "sys/class/block"


Nodes = Callable[[], Mapping[str, tuple[Hold, ...]]]


def read_holds(
    files: HostFiles, function: PciFunction, ask: Dump = dump, nodes: Nodes | None = None
) -> tuple[Hold, ...]:
    """Return what the host's software has of a function at this moment.

    Nothing can stand on a function that no driver has, but its virtual functions.

    Args:
        files: The host's files.
        function: Which.
        ask: What asks the kernel's netlink.
        nodes: What tells who has which device node open; None to look now.
    """
    directory = behind(files, f"{DEVICES}/{function.address}") or f"{DEVICES}/{function.address}"
    count = number_of_virtual_functions(files, directory)
    virtual = (Hold(HoldKind.VFS, f"has {count} virtual functions"),) if count else ()
    if files.link_name(f"{directory}/driver") is None and files.complete:
        return virtual
    if files.recorded:
        return (*virtual, Hold(HoldKind.NOT_KNOWN, "may be used by the host: that is not recorded"))
    try:
        opened = nodes or partial(open_nodes, files)
        found = tuple(_holds(files, function, directory, ask, opened))
    except NotPermittedError as error:
        found = (Hold(HoldKind.NOT_KNOWN, f"may be used by the host: {error}"),)
    return (*virtual, *dict.fromkeys(found))


def _holds(
    files: HostFiles, function: PciFunction, directory: str, ask: Dump, nodes: Nodes
) -> Iterator[Hold]:
    yield from network_holds(files, directory, ask)
    yield from rdma_holds(files, directory, ask)
    yield from _disks(files, function, directory)
    yield from open_devices(files, directory, nodes)


def _disks(files: HostFiles, function: PciFunction, directory: str) -> Iterator[Hold]:
    """Yield what is on its block devices, and what they are part of: LVM, RAID, encryption."""
    used, _ = read_disks(files)
    for place in used.get(function.address, ()):
        yield Hold(HoldKind.DISK, f"carries {place}")
    for name in files.names(_BLOCK_DEVICES):
        path = behind(files, f"{_BLOCK_DEVICES}/{name}") or ""
        if path.startswith(f"{directory}/"):
            for holder in files.names(f"{path}/holders"):
                yield Hold(HoldKind.DISK, f"has {name}, which is part of {holder}")
