"""Partitions of a board's NVSwitches: which are in the way, and which are the GPUs of a VM.

Fabric Manager knows GPUs by module, 1 to 8 on each board: ``physicalId`` of its API and ``Module
ID`` of ``nvidia-smi -q``. A module says nothing of an address (Fabric Manager User Guide, shared
NVSwitch virtualization model).
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from pcietune.errors import BadInputError

Table = tuple["Partition", ...]


@dataclass(frozen=True, slots=True)
class Partition:
    """GPUs between which Fabric Manager opens NVLink, and to no others.

    Attributes:
        number: Fabric Manager's id of it.
        modules: Modules of its GPUs.
        links: How many NVLinks each of them has in it; 0 for one GPU alone.
    """

    number: int
    modules: frozenset[int]
    links: int

    def overlaps(self, other: "Partition") -> bool:
        """Return whether the two share a GPU, so that one of them is active at most."""
        return not self.modules.isdisjoint(other.modules)

    def __str__(self) -> str:
        """Return the partition for a sentence: ``partition 3 (modules 1, 3)``."""
        return f"partition {self.number} ({modules_text(self.modules)})"


def modules_text(modules: Iterable[int]) -> str:
    """Return modules for a sentence: ``module 1``, ``modules 1, 3``."""
    numbers = sorted(modules)
    word = "module" if len(numbers) == 1 else "modules"
    return f"{word} {', '.join(map(str, numbers))}"


def partition_numbered(table: Table, number: int) -> Partition:
    """Return a partition by its id.

    Raises:
        BadInputError: The board has none of it.
    """
    for partition in table:
        if partition.number == number:
            return partition
    known = ", ".join(str(partition.number) for partition in table)
    raise BadInputError(
        f"there is no partition {number} on this board", hint=f"partitions of it: {known}"
    )


def partition_of(table: Table, modules: Collection[int]) -> Partition | None:
    """Return the partition of exactly these GPUs; None if there is none."""
    wanted = frozenset(modules)
    return next((partition for partition in table if partition.modules == wanted), None)


def nearest_partitions(table: Table, modules: Collection[int]) -> Table:
    """Return the partitions of as many GPUs, or of the next number up, with most of these.

    Those of the largest number if there are more GPUs than any has.
    """
    wanted = frozenset(modules)
    sizes = sorted({len(partition.modules) for partition in table})
    size = next((size for size in sizes if size >= len(wanted)), sizes[-1])
    alike = [partition for partition in table if len(partition.modules) == size]
    most = max(len(partition.modules & wanted) for partition in alike)
    return tuple(partition for partition in alike if len(partition.modules & wanted) == most)


def conflicts(table: Table, wanted: Partition, active: Collection[int]) -> Table:
    """Return the active partitions that have to be deactivated before one can be activated.

    That is itself, too, where it is active.

    Raises:
        BadInputError: The board has none of such an id.
    """
    taken = (partition_numbered(table, number) for number in sorted(set(active)))
    return tuple(partition for partition in taken if partition.overlaps(wanted))
