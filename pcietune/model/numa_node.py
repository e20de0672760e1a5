"""A host's NUMA nodes: the CPUs and memory that a VM's can be bound to."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Hugepages:
    """Hugepages of one size on one node.

    Attributes:
        total: How many there are.
        free: How many of them nobody has; None if not known.
    """

    total: int
    free: int | None


@dataclass(frozen=True, slots=True)
class NumaNode:
    """One node, as sysfs has it.

    Attributes:
        number: The kernel's.
        cpus: Its CPUs that are online, each with its hardware threads' siblings side by side where
            they are known; empty for a node of memory only.
        siblings: For each of them the CPUs of its core, itself included; missing if not known.
        memory_kib: MemTotal; None if not known.
        distances: To each node, in the order of their numbers; empty if not known.
        hugepages: By their size in KiB.
    """

    number: int
    cpus: tuple[int, ...]
    siblings: Mapping[int, tuple[int, ...]]
    memory_kib: int | None
    distances: tuple[int, ...]
    hugepages: Mapping[int, Hugepages]
