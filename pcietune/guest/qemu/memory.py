"""A VM's NUMA nodes as QEMU's arguments (docs of -object memory-backend-*, and of -numa)."""

from collections.abc import Iterator, Sequence

from pcietune.guest.number_list import number_list
from pcietune.guest.plan import Cell
from pcietune.guest.qemu.property_list import property_list


def memory_arguments(cells: Sequence[Cell]) -> list[str]:
    """Return the memory of each cell, the cells with their CPUs, and their distances."""
    total = sum(cell.memory_mib for cell in cells)
    return [
        *("-m", f"{total}M"),
        *(word for cell in cells for word in ("-object", _backend(cell))),
        *(word for cell in cells for word in ("-numa", _node(cell))),
        *(word for value in _distances(cells) for word in ("-numa", value)),
    ]


def _backend(cell: Cell) -> str:
    """Return the memory of a cell: of its node alone, or QEMU does not start.

    Hugepages are of a memfd, since one needs no hugetlbfs mounted for each size, and taken at
    once: what is not there when a VM touches it kills the VM.
    """
    huge = cell.hugepage_kib is not None
    bound = cell.host_node is not None
    return property_list(
        "memory-backend-memfd" if huge else "memory-backend-ram",
        {
            "id": _memory(cell),
            "size": f"{cell.memory_mib}M",
            "hugetlb": "on" if huge else None,
            "hugetlbsize": f"{cell.hugepage_kib}K" if huge else None,
            "prealloc": "on" if huge else None,
            "host-nodes": cell.host_node,
            "policy": "bind" if bound else None,
        },
    )


def _node(cell: Cell) -> str:
    cpus = [("cpus", run) for run in number_list(cell.vcpus).split(",")] if cell.vcpus else []
    return property_list("node", {"nodeid": cell.cell, "memdev": _memory(cell)}, *cpus)


def _distances(cells: Sequence[Cell]) -> Iterator[str]:
    """Yield the distance of each two cells; QEMU itself knows that to itself."""
    for cell in cells:
        for other, distance in zip(cells, cell.distances, strict=False):
            if other is not cell:
                yield property_list("dist", {"src": cell.cell, "dst": other.cell, "val": distance})


def _memory(cell: Cell) -> str:
    return f"ram{cell.cell}"
