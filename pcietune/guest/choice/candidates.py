"""Which sets of GPUs a VM could get."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from pcietune.address import PciAddress
from pcietune.guest.nvswitch.partition import Partition
from pcietune.guest.stock.offer import Offer

Gpus = tuple[Offer, ...]


def candidates(free: Sequence[Offer], count: int) -> Iterator[Gpus]:
    """Yield the sets of so many GPUs, each in order.

    GPUs that nothing tells apart but their order stand for each other, so that of those only the
    first are taken: what is left out would rank the same, and stand behind.
    """
    alike: dict[object, list[Offer]] = {}
    for gpu in sorted(free, key=lambda gpu: gpu.order):
        traits = (gpu.switches, gpu.node, gpu.mates, len(gpu.failing))
        alike.setdefault(traits, []).append(gpu)
    classes = list(alike.values())
    for numbers in _counts([len(members) for members in classes], count):
        parts = zip(numbers, classes, strict=True)
        yield in_order(gpu for number, members in parts for gpu in members[:number])


def of_partitions(
    free: Sequence[Offer],
    partitions: Collection[Partition],
    modules: Mapping[PciAddress, int],
    count: int,
) -> Iterator[Gpus]:
    """Yield the sets of so many GPUs that are a partition each, in the order of its id."""
    by_module = {modules[gpu.address]: gpu for gpu in free}
    for partition in partitions:
        if len(partition.modules) == count and partition.modules <= by_module.keys():
            yield in_order(by_module[module] for module in partition.modules)


def in_order(gpus: Iterator[Offer]) -> Gpus:
    """Return GPUs in the order of their locations."""
    return tuple(sorted(gpus, key=lambda gpu: gpu.order))


def is_whole(gpus: Gpus, may_join: Collection[PciAddress]) -> bool:
    """Return whether no IOMMU group of the GPUs would be torn apart.

    Args:
        gpus: A set.
        may_join: What the VM can get besides: NICs.
    """
    held = {address for gpu in gpus for address in gpu.addresses}
    return all(mate in held or mate in may_join for gpu in gpus for mate in gpu.mates)


def _counts(sizes: Sequence[int], total: int) -> Iterator[tuple[int, ...]]:
    """Yield all numbers, one of each class and at most its size, that add up to a total."""
    if not sizes:
        if total == 0:
            yield ()
        return
    first, *rest = sizes
    for number in range(max(0, total - sum(rest)), min(first, total) + 1):
        for others in _counts(rest, total - number):
            yield (number, *others)
