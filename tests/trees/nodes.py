"""NUMA nodes of a host's tree, as the kernel shows them."""

from collections.abc import Iterable, Mapping

from trees.host import TreeHost


def add_node(  # noqa: PLR0913 -- one for each file
    tree: TreeHost,
    number: int,
    *,
    cpus: str,
    cores: Iterable[str] = (),
    memory_kib: int = 64 << 20,
    distance: str = "10",
    hugepages: Mapping[int, tuple[int, int]] | None = None,
) -> None:
    """Add a node, half of whose memory is free.

    Args:
        tree: The host.
        number: The node's.
        cpus: As ``0-3,8``.
        cores: The CPUs of each core, as ``0,4``; those of no core have no topology files.
        memory_kib: MemTotal.
        distance: To each node, as ``10 21``.
        hugepages: By size in KiB: how many there are, and how many are free.
    """
    node = f"sys/devices/system/node/node{number}"
    tree.put(f"{node}/cpulist", cpus)
    tree.put(f"{node}/distance", distance)
    tree.put(
        f"{node}/meminfo",
        f"Node {number} MemTotal:       {memory_kib} kB\n"
        f"Node {number} MemFree:        {memory_kib // 2} kB\n"
        f"Node {number} HugePages_Total:     0",
    )
    for size, (total, free) in (hugepages or {}).items():
        tree.put(f"{node}/hugepages/hugepages-{size}kB/nr_hugepages", str(total))
        tree.put(f"{node}/hugepages/hugepages-{size}kB/free_hugepages", str(free))
    for core in cores:
        for cpu in core.split(","):
            for name in ("core_cpus_list", "thread_siblings_list"):
                tree.put(f"sys/devices/system/cpu/cpu{cpu}/topology/{name}", core)
