"""A VM's NUMA nodes, their CPUs and memory, as libvirt's elements (docs/formatdomain.rst)."""

from collections.abc import Sequence

from pcietune.guest.libvirt.element import Element, element
from pcietune.guest.number_list import number_list
from pcietune.guest.plan import Cell


def memory(cells: Sequence[Cell]) -> Element:
    """Return how much memory the VM has in all."""
    return element("memory", unit="MiB").with_text(sum(each.memory_mib for each in cells))


def memory_backing(cells: Sequence[Cell]) -> Element | None:
    """Return which hugepages hold the memory; None if none do.

    They are of a memfd, since one needs no hugetlbfs mounted for each size of page, and shared,
    as QEMU's own default is for those.
    """
    sizes = sorted({each.hugepage_kib for each in cells if each.hugepage_kib is not None})
    if not sizes:
        return None
    pages = [
        element("page", size=size, unit="KiB", nodeset=number_list(_holding(cells, size)))
        for size in sizes
    ]
    return element("memoryBacking").with_content(
        element("hugepages").with_content(*pages),
        element("source", type="memfd"),
        element("access", mode="shared"),
    )


def vcpus(cells: Sequence[Cell]) -> Element:
    """Return how many CPUs the VM has in all."""
    return element("vcpu", placement="static").with_text(sum(len(each.vcpus) for each in cells))


def cpu_tuning(cells: Sequence[Cell]) -> Element | None:
    """Return which of the host's CPUs each of the VM's runs on; None if none is pinned.

    QEMU's own threads run on the same ones: a plan has no others, and those are near.
    """
    pairs = [pair for each in cells for pair in zip(each.vcpus, each.host_cpus, strict=False)]
    if not pairs:
        return None
    return element("cputune").with_content(
        *(element("vcpupin", vcpu=vcpu, cpuset=cpu) for vcpu, cpu in sorted(pairs)),
        element("emulatorpin", cpuset=number_list(cpu for _, cpu in pairs)),
    )


def memory_tuning(cells: Sequence[Cell]) -> Element | None:
    """Return which of the host's nodes each cell's memory is of; None if none is bound.

    Strict: a VM whose node has not got the memory does not start, instead of becoming slow.
    """
    bound = [(each.cell, each.host_node) for each in cells if each.host_node is not None]
    if not bound:
        return None
    return element("numatune").with_content(
        *(
            element("memnode", cellid=cell, mode="strict", nodeset=node)
            for cell, node in sorted(bound)
        ),
    )


def cell_elements(cells: Sequence[Cell]) -> Element:
    """Return the cells with their CPUs, memory and distances."""
    return element("numa").with_content(*(_cell(each) for each in cells))


def _cell(cell: Cell) -> Element:
    cpus = number_list(cell.vcpus) or None
    siblings = [
        element("sibling", id=number, value=distance)
        for number, distance in enumerate(cell.distances)
    ]
    distances = element("distances").with_content(*siblings) if siblings else None
    return element(
        "cell", id=cell.cell, cpus=cpus, memory=cell.memory_mib, unit="MiB"
    ).with_content(distances)


def _holding(cells: Sequence[Cell], size: int) -> list[int]:
    return [each.cell for each in cells if each.hugepage_kib == size]
