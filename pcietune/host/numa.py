"""How many NUMA nodes the kernel runs on."""

import re

from pcietune.host.host_files import HostFiles

NODES_WITH_CPUS = "sys/devices/system/node/has_cpu"

_RANGE = re.compile(r"([0-9]{1,6})(?:-([0-9]{1,6}))?")


def read_numa_nodes(files: HostFiles) -> int | None:
    """Return how many nodes have CPUs; None if unreadable.

    A node of memory only (CXL, a GPU's own) is none that a device is near to or far from. The file
    holds ranges, as in ``0-3,8`` (Documentation/ABI/stable/sysfs-devices-node).
    """
    text = files.text(NODES_WITH_CPUS)
    ranges = [_RANGE.fullmatch(part) for part in text.split(",")] if text else []
    spans = [(int(each[1]), int(each[2] or each[1])) for each in ranges if each]
    if len(spans) != len(ranges):
        return None
    return sum(last - first + 1 for first, last in spans) or None
