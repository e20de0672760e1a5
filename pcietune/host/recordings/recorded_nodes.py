"""What a recording keeps of NUMA nodes: what does not change while a host only runs."""

from pcietune.host.numa_nodes import (
    CPUS,
    HUGEPAGES,
    MEMORY,
    NODE_FILES,
    NODES,
    SIBLINGS,
    hugepage_sizes,
    node_numbers,
    read_nodes,
)
from pcietune.host.recordings.recorded_tree import RecordedTree


def record_nodes(tree: RecordedTree) -> None:
    """Copy the host's nodes, but not how much memory and how many hugepages are free.

    That changes from one moment to the next, and two recordings of a host are to differ only where
    the host does.
    """
    for number in node_numbers(tree.source):
        path = f"{NODES}/node{number}"
        for name in NODE_FILES:
            tree.copy(f"{path}/{name}")
        for size in hugepage_sizes(tree.source, number):
            tree.copy(f"{path}/{HUGEPAGES}/hugepages-{size}kB/nr_hugepages")
    for number, node in (read_nodes(tree.source) or {}).items():
        if node.memory_kib is not None:
            line = f"Node {number} MemTotal: {node.memory_kib} kB\n"
            tree.put(f"{NODES}/node{number}/{MEMORY}", line.encode())
        for cpu in node.cpus:
            for name in SIBLINGS:
                tree.copy(f"{CPUS}/cpu{cpu}/{name}")
