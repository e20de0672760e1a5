"""Which of a node's CPUs a VM is pinned to: whole cores first, none that another VM has."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pcietune.errors import BadInputError
from pcietune.guest.plan import Plan
from pcietune.guest.shares import least_for_each, most_that_fits, split
from pcietune.model.numa_node import NumaNode

Core = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """One of the host's nodes that a VM is on.

    Attributes:
        node: The node.
        weight: How much of the VM is on it, beside its other nodes.
        of: How much there is on it for all VMs, in the unit of ``weight``.
    """

    node: NumaNode
    weight: int
    of: int


@dataclass(frozen=True, slots=True)
class Pinned:
    """The CPUs of a VM.

    Attributes:
        cpus: For each place the host's CPUs, siblings side by side.
        threads: How many CPUs, in that order, share a core; 1 if not all are of whole cores.
        warnings: What is not as it should be.
    """

    cpus: tuple[tuple[int, ...], ...]
    threads: int
    warnings: tuple[str, ...]


def pinned_cpus(places: Sequence[Place], wanted: int | None, taken: Iterable[Plan]) -> Pinned:
    """Return the CPUs that a VM is pinned to.

    The last cores of a node come first, so that CPU 0 and its neighbours, which serve the host's
    own interrupts, stay the host's as long as they can.

    Args:
        places: Where the VM is; at least one.
        wanted: How many CPUs in all; None: of each node the share that the VM has in it.
        taken: Plans whose CPUs are not free.

    Raises:
        BadInputError: There are too few CPUs, or more nodes than CPUs are wanted.
    """
    others = frozenset(cpu for plan in taken for cell in plan.cells for cpu in cell.host_cpus)
    free = [_free_cores(place.node, others) for place in places]
    threads = _threads(free)
    warnings = []
    if wanted is not None and wanted % threads:
        warnings.append(
            f"{wanted} vCPUs are no whole cores of {threads} threads, so the VM takes each for a"
            f" core: {wanted + threads - wanted % threads} would be"
        )
        threads = 1
    room = [_room(cores, threads) for cores in free]
    counts = _counts(places, wanted, threads, room)
    cpus = tuple(_pinned(cores, count, threads) for cores, count in zip(free, counts, strict=True))
    for place, own in zip(places, cpus, strict=True):
        if not set(place.node.cpus) - others - set(own):
            warnings.append(
                f"no CPU of node {place.node.number} is left to the host, for its interrupts and"
                " QEMU's own threads: a smaller --cpus leaves some"
            )
    return Pinned(cpus, threads, tuple(warnings))


def _free_cores(node: NumaNode, others: frozenset[int]) -> list[Core]:
    """Return what is free of each of a node's cores: first the whole ones, in their order."""
    cores = _cores(node)
    whole = [core for core in cores if not others & set(core)]
    parts = [tuple(cpu for cpu in core if cpu not in others) for core in cores]
    return whole + [part for part in parts if part and part not in whole]


def _cores(node: NumaNode) -> list[Core]:
    return list(dict.fromkeys(node.siblings.get(cpu, (cpu,)) for cpu in node.cpus))


def _threads(free: Iterable[Sequence[Core]]) -> int:
    """Return how many threads every core has, of which a part may be taken; 1 if they differ."""
    sizes = {max((len(core) for core in cores), default=1) for cores in free}
    return sizes.pop() if len(sizes) == 1 else 1


def _room(cores: Sequence[Core], threads: int) -> int:
    """Return how many times ``threads`` CPUs of one core are free."""
    return sum(len(core) // threads for core in cores)


def _counts(
    places: Sequence[Place], wanted: int | None, threads: int, room: Sequence[int]
) -> list[int]:
    """Return for each place how many CPUs it gives.

    Raises:
        BadInputError: One has not so many, or would give none.
    """
    weights = [place.weight for place in places]
    most = most_that_fits(room, weights) * threads
    if wanted is None:
        counts = [_share(place, threads) for place in places]
    else:
        counts = split(wanted // threads, weights)
    least = least_for_each(weights) * threads
    hint = f"--cpus {most} fits" if most >= least else "name other GPUs"
    for place, count, has in zip(places, counts, room, strict=True):
        if count > has:
            raise BadInputError(
                f"node {place.node.number}: {count * threads} CPUs are wanted, and {has * threads}"
                f" of its {len(place.node.cpus)} are free",
                hint=hint,
            )
        if not count:
            raise BadInputError(
                f"node {place.node.number}: the VM has a GPU or NIC on it, and would have no CPU",
                hint=hint if most < least else f"--cpus {least} is the least",
            )
    return [count * threads for count in counts]


def _share(place: Place, threads: int) -> int:
    """Return the VM's share in all of a node's cores, free or not."""
    return max(_room(_cores(place.node), threads) * place.weight // place.of, 1)


def _pinned(cores: Sequence[Core], count: int, threads: int) -> tuple[int, ...]:
    """Return CPUs of the last cores; of one that is cut, the first."""
    last_first = [core for core in reversed(cores) if len(core) >= threads]
    fullest_first = sorted(last_first, key=len, reverse=True)
    chosen: list[Core] = []
    for core in fullest_first:
        left = count - sum(map(len, chosen))
        if not left:
            break
        chosen.append(core[:left])
    return tuple(cpu for core in sorted(chosen) for cpu in core)
