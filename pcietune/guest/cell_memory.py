"""How much of a node's memory a VM gets, in ordinary pages or in hugepages."""

from collections.abc import Sequence
from dataclasses import dataclass

from pcietune.errors import BadInputError
from pcietune.guest.cell_cpus import Place
from pcietune.guest.memory_size import memory_told, memory_typed
from pcietune.guest.shares import least_for_each, most_that_fits, split
from pcietune.guest.wish import Wish
from pcietune.model.numa_node import NumaNode

_KIB = 1024  # to a MiB
_GIB = 1024  # MiB
_FOR_VMS = (9, 10)  # of a node's ordinary memory: the rest is the kernel's, QEMU's and the host's


@dataclass(frozen=True, slots=True)
class Memory:
    """The memory of a VM.

    Attributes:
        mib: Of each place.
        warnings: What is not as it should be, or not known.
    """

    mib: tuple[int, ...]
    warnings: tuple[str, ...]


def memory_of(places: Sequence[Place], wish: Wish) -> Memory:
    """Return how much memory of each node a VM gets, in whole hugepages where it has some.

    VFIO pins all of it, so that no more can be given than there is. What plans in ``wish.taken``
    have is not there.

    Raises:
        BadInputError: A node has not so much, or no hugepages of that size; or what is wanted is
            not a number of hugepages.
    """
    step = granule_mib(wish)
    room = [_room_mib(place.node, wish) // step for place in places]
    weights = [place.weight for place in places]
    if wish.memory_mib is None:
        steps = [_share_mib(place, wish) // step for place in places]
    else:
        steps = split(wish.memory_mib // step, weights)
    most = most_that_fits(room, weights) * step
    least = least_for_each(weights) * step
    hint = f"--memory {memory_typed(most)} fits" if most >= least else "name other GPUs"
    for place, count, has in zip(places, steps, room, strict=True):
        if not count:
            raise BadInputError(
                f"node {place.node.number}: the VM has a GPU or NIC on it, and would have no memory"
                f" there{_pages(wish)}",
                hint=hint if most < least else f"--memory {memory_typed(least)} is the least",
            )
        if count > has:
            raise BadInputError(
                f"node {place.node.number}: {memory_told(count * step)} of memory are wanted"
                f"{_pages(wish)}, and {memory_told(has * step)} are there",
                hint=hint,
            )
    told = [warning for place in places if (warning := _not_known(place.node, wish))]
    return Memory(tuple(count * step for count in steps), tuple(told))


def granule_mib(wish: Wish) -> int:
    """Return what a cell's memory is a multiple of.

    Raises:
        BadInputError: The whole that is wanted is none.
    """
    step = max((wish.hugepage_kib or 0) // _KIB, 1)
    wanted = wish.memory_mib
    if wanted is not None and (wanted % step or not wanted):
        nearest = max(wanted // step, 1) * step
        raise BadInputError(
            f"--memory {memory_typed(wanted)} is not a number of hugepages of {memory_told(step)}"
            if wanted
            else "a VM without memory is none",
            hint=f"--memory {memory_typed(nearest)} is",
        )
    return step


def _room_mib(node: NumaNode, wish: Wish) -> int:
    """Return how much memory of the wanted kind of pages nobody has.

    Raises:
        BadInputError: There are no hugepages of that size.
    """
    taken = _taken_mib(node, wish)
    if wish.hugepage_kib is None:
        return _ordinary_mib(node) - taken
    pages = node.hugepages.get(wish.hugepage_kib)
    if pages is None or not pages.total:
        there = [
            memory_told(size // _KIB)
            for size, other in sorted(node.hugepages.items())
            if other.total
        ]
        raise BadInputError(
            f"node {node.number} has no hugepages of {memory_told(wish.hugepage_kib // _KIB)}",
            hint=f"it has some of {' and '.join(there)}"
            if there
            else f"reserve them: echo N > /sys/devices/system/node/node{node.number}/hugepages/"
            f"hugepages-{wish.hugepage_kib}kB/nr_hugepages",
        )
    free = pages.total if pages.free is None else pages.free
    return max(min(free * wish.hugepage_kib // _KIB, _hugepages_mib(node, wish) - taken), 0)


def _share_mib(place: Place, wish: Wish) -> int:
    """Return the VM's share in all that a node has for VMs, free or not.

    Of ordinary pages it is a number of GiB, unless it is less than one.
    """
    if wish.hugepage_kib is not None:
        return _hugepages_mib(place.node, wish) * place.weight // place.of
    part, whole = _FOR_VMS
    share = _ordinary_mib(place.node) * part * place.weight // (whole * place.of)
    return share if share < _GIB else share // _GIB * _GIB


def _hugepages_mib(node: NumaNode, wish: Wish) -> int:
    size = wish.hugepage_kib or 0
    return node.hugepages[size].total * size // _KIB


def _ordinary_mib(node: NumaNode) -> int:
    """Return a node's memory that is not set aside for hugepages; 0 if it is not known."""
    set_aside = sum(size * pages.total for size, pages in node.hugepages.items())
    return max((node.memory_kib or 0) - set_aside, 0) // _KIB


def _taken_mib(node: NumaNode, wish: Wish) -> int:
    return sum(
        cell.memory_mib
        for plan in wish.taken
        for cell in plan.cells
        if cell.host_node == node.number and cell.hugepage_kib == wish.hugepage_kib
    )


def _not_known(node: NumaNode, wish: Wish) -> str | None:
    if wish.hugepage_kib is None or node.hugepages[wish.hugepage_kib].free is not None:
        return None
    return (
        f"how many of node {node.number}'s hugepages are free is not known, which a recording"
        " does not tell: all that no plan has are taken for free"
    )


def _pages(wish: Wish) -> str:
    return (
        ""
        if wish.hugepage_kib is None
        else f" in hugepages of {memory_told(wish.hugepage_kib // _KIB)}"
    )
