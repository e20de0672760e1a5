"""How many NUMA nodes the kernel runs on."""

from pcietune.host.cpu_list import parse_list
from pcietune.host.host_files import HostFiles

NODES_WITH_CPUS = "sys/devices/system/node/has_cpu"


def read_numa_nodes(files: HostFiles) -> int | None:
    """Return how many nodes have CPUs; None if unreadable.

    A node of memory only (CXL, a GPU's own) is none that a device is near to or far from. The file
    holds ranges, as in ``0-3,8`` (Documentation/ABI/stable/sysfs-devices-node).
    """
    nodes = parse_list(files.text(NODES_WITH_CPUS) or "")
    return len(nodes) or None if nodes is not None else None
