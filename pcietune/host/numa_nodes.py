"""The CPUs, memory and hugepages of each of a host's NUMA nodes."""

import re
from collections.abc import Iterable, Mapping

from pcietune.host.cpu_list import parse_list
from pcietune.host.host_files import HostFiles
from pcietune.model.numa_node import Hugepages, NumaNode

NODES = "sys/devices/system/node"
NODES_WITH_CPUS = f"{NODES}/has_cpu"
CPUS = "sys/devices/system/cpu"
NODE_FILES = ("cpulist", "distance")
HUGEPAGES = "hugepages"
MEMORY = "meminfo"
SIBLINGS = ("topology/core_cpus_list", "topology/thread_siblings_list")
"""By today's name, and by that before Linux 5.3 (commit 2e4c54dac7b3)."""

_NODE = re.compile(r"node([0-9]{1,4})")
_HUGEPAGES = re.compile(r"hugepages-([0-9]{1,9})kB")
_KIB = re.compile(r"Node [0-9]+ (\w+): +([0-9]{1,15}) kB")


def count_nodes_with_cpus(files: HostFiles) -> int | None:
    """Return how many nodes have CPUs; None if unreadable.

    A node of memory only (CXL, a GPU's own) is none that a device is near to or far from. The file
    holds ranges, as in ``0-3,8`` (Documentation/ABI/stable/sysfs-devices-node).
    """
    nodes = parse_list(files.text(NODES_WITH_CPUS) or "")
    return len(nodes) or None if nodes is not None else None


def read_nodes(files: HostFiles) -> Mapping[int, NumaNode] | None:
    """Return the host's NUMA nodes by their numbers; None if it does not tell.

    So it is with a kernel without NUMA, with a dump, and with recordings of before nodes were kept.
    Files are those of Documentation/ABI/stable/sysfs-devices-node and sysfs-devices-system-cpu.

    Raises:
        NotPermittedError: This user may not look there.
        BadInputError: A path of a recording leads out of it.
    """
    found = {number: _node(files, number) for number in node_numbers(files)}
    nodes = {number: node for number, node in found.items() if node is not None}
    return nodes if nodes and len(nodes) == len(found) else None


def node_numbers(files: HostFiles) -> list[int]:
    """Return the numbers of the nodes that the kernel shows, sorted; errors as ``read_nodes``."""
    return sorted(_numbers(_NODE, files.names(NODES)))


def hugepage_sizes(files: HostFiles, number: int) -> list[int]:
    """Return the sizes in KiB of a node's hugepages; errors as ``read_nodes``."""
    return sorted(_numbers(_HUGEPAGES, files.names(f"{NODES}/node{number}/{HUGEPAGES}")))


def _node(files: HostFiles, number: int) -> NumaNode | None:
    """Return one node; None if not even its CPUs are told."""
    path = f"{NODES}/node{number}"
    text = files.text(f"{path}/cpulist")
    cpus = None if text is None else parse_list(text)  # those that are online (drivers/base/node.c)
    if cpus is None:
        return None
    siblings = {cpu: core for cpu in cpus if (core := _core(files, cpu, cpus))}
    memory = dict(_KIB.findall(files.text(f"{path}/{MEMORY}") or ""))
    return NumaNode(
        number=number,
        cpus=_core_by_core(cpus, siblings),
        siblings=siblings,
        memory_kib=int(memory["MemTotal"]) if "MemTotal" in memory else None,
        distances=_distances(files.text(f"{path}/distance")),
        hugepages=_hugepages(files, number),
    )


def _core(files: HostFiles, cpu: int, cpus: tuple[int, ...]) -> tuple[int, ...] | None:
    """Return the CPUs of a CPU's core, itself included; None if not known."""
    for name in SIBLINGS:
        core = parse_list(files.text(f"{CPUS}/cpu{cpu}/{name}") or "")
        if core and cpu in core:
            return tuple(each for each in core if each in cpus)
    return None


def _core_by_core(cpus: Iterable[int], siblings: Mapping[int, tuple[int, ...]]) -> tuple[int, ...]:
    """Return CPUs in the order of their cores, those of one core side by side."""
    ordered: dict[int, None] = {}
    for cpu in sorted(cpus):
        ordered |= dict.fromkeys(siblings.get(cpu, (cpu,)))
    return tuple(ordered)


def _hugepages(files: HostFiles, number: int) -> dict[int, Hugepages]:
    """Return a node's hugepages by size in KiB; a size whose number cannot be read is left out."""
    found = {}
    for size in hugepage_sizes(files, number):
        path = f"{NODES}/node{number}/{HUGEPAGES}/hugepages-{size}kB"
        total = files.number(f"{path}/nr_hugepages")
        if total is not None:
            found[size] = Hugepages(total, files.number(f"{path}/free_hugepages"))
    return found


def _distances(text: str | None) -> tuple[int, ...]:
    words = (text or "").split()
    return tuple(map(int, words)) if all(map(str.isdecimal, words)) else ()


def _numbers(name: re.Pattern[str], names: Iterable[str]) -> Iterable[int]:
    return (int(match[1]) for each in names if (match := name.fullmatch(each)))
