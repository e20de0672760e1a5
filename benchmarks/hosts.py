"""Recorded hosts of any size, in memory as sysfs and ``/run`` are."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from trees.config import ENDPOINT, ConfigBuilder
from trees.function import Function, downstream_port, gpu, nic, root_port, upstream_port
from trees.host import TreeHost

VFS_PER_NIC = 59
FUNCTIONS_PER_SWITCH = 128
"""With that many VFs: six ports, two GPUs, two NICs and 118 VFs."""

_IN_MEMORY = Path("/dev/shm")  # noqa: S108 -- a directory with a random name is made there


@contextmanager
def host_of_switches(switches: int, *, vfs_per_nic: int = 0) -> Iterator[TreeHost]:
    """Yield a host of switches in a domain each, below a directory that is removed in the end.

    Each has a root port 00:01.0, an upstream port 01:00.0, four downstream ports 02:00.0 to
    02:0c.0, below these two GPUs 03:00.0 and 04:00.0 and two NICs 05:00.0 and 06:00.0. Each NIC
    has VFs on its own bus. Only ports have a driver; every function has an IOMMU group of its own.
    """
    with tempfile.TemporaryDirectory(prefix="pcietune-benchmark-", dir=_IN_MEMORY) as directory:
        host = TreeHost(Path(directory))
        host.intel_iommu("dmar0")
        group = 0
        for domain in range(switches):
            for function in switch_functions(f"{domain:04x}", vfs_per_nic):
                host.add(replace(function, group=group, iommu="dmar0"))
                group += 1
        yield host


def ports_above_nics(host: TreeHost) -> list[Path]:
    """Return the Configuration Space of every port that a NIC is right below."""
    devices = (host.root / "sys/bus/pci/devices").iterdir()
    return [path / "config" for path in devices if path.name.endswith(("02:08.0", "02:0c.0"))]


def switch_functions(domain: str, vfs_per_nic: int) -> Iterator[Function]:
    """Yield one switch of such a host and what is below it, ports before that."""
    root, up = f"{domain}:00:01.0", f"{domain}:01:00.0"
    yield root_port(root)
    yield upstream_port(up, below=root)
    for number, make in enumerate((gpu, gpu, nic, nic)):
        down, endpoint = f"{domain}:02:{4 * number:02x}.0", f"{domain}:{3 + number:02x}:00.0"
        yield downstream_port(down, below=up)
        yield make(endpoint, below=down)
        if make is nic:
            for index in range(1, vfs_per_nic + 1):
                yield _virtual_function(endpoint, index, below=down)


def _virtual_function(physical: str, index: int, *, below: str) -> Function:
    """Return a VF, which has IDs in sysfs but reads as ffff where they stand in registers."""
    config = ConfigBuilder("15b3:101c", 0x020700, subsystem="15b3:0007")
    config.express(ENDPOINT).ats(0x0020, 0x0000).put(0, b"\xff" * 4)
    address = f"{physical.removesuffix('00.0')}{index >> 3:02x}.{index & 7}"
    return Function(address, config, below=below, physical_function=physical)
