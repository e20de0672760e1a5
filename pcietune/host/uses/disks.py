"""Block devices that the host stands on: which functions are behind mounts and swap."""

import re
from collections.abc import Iterator

from pcietune.address import PciAddress
from pcietune.host.host_files import HostFiles
from pcietune.host.uses.lines import lines
from pcietune.host.uses.sysfs_path import behind, function_of

MOUNTS = "proc/self/mountinfo"
SWAPS = "proc/swaps"
SWAP = "swap"
OTHER = "a mounted file system"

_BY_NUMBER = "sys/dev/block"
_BY_NAME = "sys/class/block"
_TOLD = ("/", "/boot", "/boot/efi", "/usr", "/var")  # other places may be private
_UNNUMBERED = "0"  # major number of what is on no block device, or on several
_DEVICE = "/dev/"
_ZFS = "zfs"
_NVME_PATH = re.compile(r"nvme\d+")
_OF_MEMORY = re.compile(r"(?:loop|ram|zram)\d+")  # a loop's file is on a mount of its own


def read_disks(files: HostFiles) -> tuple[dict[PciAddress, tuple[str, ...]], list[str]]:
    """Return what is on the block devices behind each function, and what is not known of that.

    Raises:
        NotPermittedError: This user may not look there.
    """
    found: dict[PciAddress, set[str]] = {}
    not_known: list[str] = []
    mounts, swaps = lines(files, MOUNTS), lines(files, SWAPS)
    if mounts is None:
        return {}, ["which functions carry mounted disks: mounts are not readable"]
    places = [*_mounted(mounts), *((name, SWAP) for name in _swapped(swaps or []))]
    for device, place in sorted(set(places)):
        path = _directory(files, device)
        functions = set() if path is None else _functions(files, path)
        for function in functions:
            found.setdefault(function, set()).add(place)
        if not functions and not _OF_MEMORY.search(path or ""):
            not_known.append(f"which function carries {place}, of {device}")
    return {function: tuple(sorted(on)) for function, on in sorted(found.items())}, not_known


def _mounted(mounts: list[str]) -> Iterator[tuple[str, str]]:
    """Yield device and place of each row of mountinfo (Documentation/filesystems/proc.rst, 3.5).

    A device is its numbers, ``259:2``; of a file system on several devices it is the first's name.
    """
    for row in mounts:
        before, _, after = row.partition(" - ")
        fields, (kind, _, rest) = before.split(), after.partition(" ")
        if len(fields) < 5:
            continue
        place = fields[4] if fields[4] in _TOLD else OTHER
        source = rest.split(" ")[0]
        if fields[2].split(":")[0] != _UNNUMBERED:
            yield fields[2], place
        elif source.startswith(_DEVICE):
            yield source.split(":")[0], place
        elif kind == _ZFS:
            yield f"{kind} {source.split('/')[0]}", place


def _swapped(swaps: list[str]) -> Iterator[str]:
    for row in swaps[1:]:
        name = row.split(" ")[0]
        if name.startswith(_DEVICE):
            yield name


def _directory(files: HostFiles, device: str) -> str | None:
    """Return a block device's directory; None if it is not to be found."""
    if device.startswith(_DEVICE):
        name = files.link_name(device.removeprefix("/")) or device.rpartition("/")[2]
        return behind(files, f"{_BY_NAME}/{name}")
    return behind(files, f"{_BY_NUMBER}/{device}")


def _functions(files: HostFiles, path: str, above: frozenset[str] = frozenset()) -> set[PciAddress]:
    """Return the functions behind a block device, or behind those that it is made of.

    A partition stands below its disk. NVMe namespaces of several paths stand below no function;
    their subsystem has links to its controllers (drivers/nvme/host/core.c).
    """
    own = function_of(path)
    if own is not None:
        return {own}
    if path in above:
        return set()
    disk = path.rpartition("/")[0]
    links = [f"{at}/slaves/{name}" for at in (path, disk) for name in files.names(f"{at}/slaves")]
    for at in (disk, disk.rpartition("/")[0]):
        links += [f"{at}/{name}" for name in files.names(at) if _NVME_PATH.fullmatch(name)]
    below = [target for link in links if (target := behind(files, link)) is not None]
    return {each for one in below for each in _functions(files, one, above | {path})}
