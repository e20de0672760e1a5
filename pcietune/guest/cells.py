"""A VM's NUMA nodes: one for each of the host's that its GPUs and NICs are on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pcietune.errors import BadInputError
from pcietune.guest.cell_cpus import Place, pinned_cpus
from pcietune.guest.cell_memory import granule_mib, memory_of
from pcietune.guest.chosen import Chosen
from pcietune.guest.kinds import Kind
from pcietune.guest.plan import Cell
from pcietune.guest.wish import Wish
from pcietune.model.numa_node import NumaNode


@dataclass(frozen=True, slots=True)
class Cells:
    """A VM's NUMA nodes.

    Attributes:
        cells: In the order of the host's nodes.
        warnings: What is not as it should be, or not known, in sentences.
    """

    cells: tuple[Cell, ...]
    warnings: tuple[str, ...]


def cells_for(
    chosen: Sequence[Chosen],
    nodes: Mapping[int, NumaNode] | None,
    wish: Wish,
    host_gpus: Mapping[int, int],
) -> Cells:
    """Return the cells of a VM, each bound to one of the host's nodes.

    CPUs and memory are shared out by GPUs: by default a VM has of each node the share that it has
    in the GPUs there. A node with NICs of the VM but no GPU counts as one with one GPU.

    Args:
        chosen: What the VM is given.
        nodes: The host's nodes; None if they are not known.
        wish: What is wanted of the VM.
        host_gpus: How many GPUs the host has on each node, whoever has them.

    Raises:
        BadInputError: A node has not so many CPUs or so much memory; or it is not known what
            there is, and nobody said how much is wanted.
    """
    weights = _weights(chosen, nodes or {})
    if nodes is None or not weights:
        return _unbound(wish)
    most = max(host_gpus.values(), default=1)
    places = [
        Place(nodes[number], weight, max(host_gpus.get(number, most), weight))
        for number, weight in sorted(weights.items())
    ]
    pinned = pinned_cpus(places, wish.cpus, wish.taken)
    memory = memory_of(places, wish)
    far = _distances(nodes, sorted(weights))
    cells = []
    first = 0
    for number, place in enumerate(places):
        cpus = pinned.cpus[number]
        cells.append(
            Cell(
                cell=number,
                host_node=place.node.number,
                vcpus=list(range(first, first + len(cpus))),
                host_cpus=list(cpus),
                threads=pinned.threads,
                memory_mib=memory.mib[number],
                hugepage_kib=wish.hugepage_kib,
                distances=far[number],
            )
        )
        first += len(cpus)
    nowhere = [
        f"{each.function.address}: the host does not tell its NUMA node, so the VM is told none"
        for each in chosen
        if _node(each, nodes) is None
    ]
    return Cells(tuple(cells), (*pinned.warnings, *memory.warnings, *nowhere))


class Room:
    """Tells whether a host's nodes have the CPUs and memory of VMs."""

    def __init__(
        self, nodes: Mapping[int, NumaNode] | None, wish: Wish, host_gpus: Mapping[int, int]
    ) -> None:
        """Begin; the arguments are those of ``cells_for``."""
        self._nodes = nodes
        self._wish = wish
        self._host_gpus = host_gpus
        self._told: dict[tuple[tuple[int, int], ...], bool] = {}

    def has(self, gpus: Sequence[Chosen]) -> bool:
        """Return whether there is enough for a VM with these GPUs; not if it is not known."""
        key = tuple(sorted(_weights(gpus, self._nodes or {}).items()))
        if key not in self._told:
            try:
                cells_for(gpus, self._nodes, self._wish, self._host_gpus)
            except BadInputError:
                self._told[key] = False
            else:
                self._told[key] = True
        return self._told[key]


def _node(chosen: Chosen, nodes: Mapping[int, NumaNode]) -> int | None:
    """Return the host's node that a function is on; None if not known."""
    node = chosen.state.numa_node
    return node if node in nodes else None


def _weights(chosen: Sequence[Chosen], nodes: Mapping[int, NumaNode]) -> dict[int, int]:
    """Return how many GPUs the VM has on each node that it is on; 1 if it has only others there.

    An NVSwitch alone makes no cell: no CPU works with it.
    """
    gpus: dict[int, int] = {}
    if all(each.kind is Kind.NVSWITCH for each in chosen):
        working: Sequence[Chosen] = chosen
    else:
        working = [each for each in chosen if each.kind is not Kind.NVSWITCH]
    for each in working:
        node = _node(each, nodes)
        if node is not None:
            gpus[node] = gpus.get(node, 0) + (each.kind is Kind.GPU)
    return {node: max(count, 1) for node, count in gpus.items()}


def _distances(nodes: Mapping[int, NumaNode], numbers: Sequence[int]) -> list[list[int]]:
    """Return how far some nodes are from each other, as the host's SLIT has it.

    Where it does not tell: 10 and 20, as the kernel then does (include/linux/topology.h).
    """
    columns = {number: column for column, number in enumerate(sorted(nodes))}
    rows = []
    for one in numbers:
        told = nodes[one].distances
        known = len(told) == len(columns)
        rows.append(
            [told[columns[other]] if known else (10 if other == one else 20) for other in numbers]
        )
    return rows


def _unbound(wish: Wish) -> Cells:
    """Return one cell that is bound to nothing.

    Raises:
        BadInputError: Nobody said how many CPUs or how much memory.
    """
    granule_mib(wish)
    if wish.cpus is None or wish.memory_mib is None:
        raise BadInputError(
            "the NUMA nodes of the host, or of these functions, are not known: how many CPUs and"
            " how much memory the VM is to have has to be said",
            hint="give --cpus and --memory, or record the host again with this pcietune",
        )
    cell = Cell(
        cell=0,
        host_node=None,
        vcpus=list(range(wish.cpus)),
        host_cpus=[],
        threads=1,
        memory_mib=wish.memory_mib,
        hugepage_kib=wish.hugepage_kib,
        distances=[10],
    )
    said = (
        "the host's NUMA nodes are not known, so the VM's CPUs and memory are bound to none:"
        " whether the host has them is not checked"
    )
    return Cells((cell,), (said,))
