"""Ranks sets of GPUs: near to each other and to their NICs, and at the least loss for others."""

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence

from pcietune.address import PciAddress
from pcietune.guest.choice.candidates import Gpus
from pcietune.guest.choice.nics import Picked, pick_nics
from pcietune.guest.nvswitch.partition import Partition
from pcietune.guest.stock.offer import Offer, Stock

Rank = tuple[
    int, int, int, int, int, int, int, list[int], int, int, int, int, list[tuple[int, str]]
]

_OWN_LOSSES = 7  # of a rank: the rest is what others lose


class Ranking:
    """Ranks sets of the same size; what sets have in common is worked out once."""

    __slots__ = ("_free_modules", "_near", "_nics", "_nodes", "_partitions", "_places", "_stock")

    def __init__(
        self,
        stock: Stock,
        free: Sequence[Offer],
        nics: int | None,
        partitions: Collection[Partition] = (),
    ) -> None:
        """Begin.

        Args:
            stock: What the host has.
            free: The GPUs of it that the VM can get.
            nics: How many NICs it is to get; None for its share.
            partitions: All of the NVSwitches; empty if no module is known.
        """
        self._stock = stock
        self._nics = nics
        self._partitions = partitions
        self._free_modules = {stock.modules[gpu.address] for gpu in free} if partitions else set()
        self._places = _Kept(_place, free, stock.gpus)
        self._nodes = _Kept(_node, free, stock.gpus)
        self._near: dict[tuple[PciAddress, ...], Picked] = {}

    def __call__(self, gpus: Gpus) -> Rank:
        """Return what compares a set with others: the least is the best.

        First what the VM itself loses, then what the next one does, then the order on the host,
        which tells any two apart.
        """
        parts = [self._picked(gpus)] if self._nics is not None else self._shares(gpus)
        nics = [offer for part in parts for offer in part.offers]
        return (
            sum(len(gpu.failing) for gpu in gpus),
            sum(part.wanted - part.cards for part in parts),
            len({gpu.node for gpu in gpus}),
            len({gpu.place for gpu in gpus}),
            len({gpu.switches or gpu.place for gpu in gpus}),
            _elsewhere(nics, gpus, _node),
            _elsewhere(nics, gpus, _place),
            self._partitions_lost(gpus),
            self._places.broken(gpus),
            self._nodes.broken(gpus),
            self._places.left_over(gpus),
            self._nodes.left_over(gpus),
            [gpu.order for gpu in gpus],
        )

    def own_losses(self, gpus: Gpus) -> tuple[object, ...]:
        """Return what the VM itself loses by a set, as the rank begins."""
        return self(gpus)[:_OWN_LOSSES]

    def _shares(self, gpus: Gpus) -> list[Picked]:
        """Return the NICs of the GPUs of each switch, which those of other switches do not touch.

        An IOMMU group that reaches across switches would, so with one all are picked at once.
        """
        if any(gpu.mates for gpu in gpus):
            return [self._picked(gpus)]
        places: dict[str, list[Offer]] = {}
        for gpu in gpus:
            places.setdefault(gpu.place, []).append(gpu)
        return [self._picked(tuple(here)) for here in places.values()]

    def _picked(self, gpus: Gpus) -> Picked:
        key = tuple(gpu.address for gpu in gpus)
        if key not in self._near:
            self._near[key] = pick_nics(self._stock, gpus, self._nics)
        return self._near[key]

    def _partitions_lost(self, gpus: Gpus) -> list[int]:
        """Return how many partitions no longer are free, those of most GPUs first."""
        if not self._partitions:
            return []
        modules = {self._stock.modules[gpu.address] for gpu in gpus}
        lost = Counter(
            len(each.modules)
            for each in self._partitions
            if each.modules <= self._free_modules and not each.modules.isdisjoint(modules)
        )
        sizes = sorted({len(each.modules) for each in self._partitions}, reverse=True)
        return [lost[size] for size in sizes]


class _Kept:
    """How many GPUs there are below each switch, or on each node, and how many are free."""

    __slots__ = ("_all", "_free", "_of")

    def __init__(
        self, of: Callable[[Offer], Hashable], free: Iterable[Offer], every: Iterable[Offer]
    ) -> None:
        self._of = of
        self._free = Counter(map(of, free))
        self._all = Counter(map(of, every))

    def broken(self, gpus: Gpus) -> int:
        """Return how many had all their GPUs free, and have only some once a set is taken."""
        taken = Counter(map(self._of, gpus))
        return sum(self._free[key] == self._all[key] != taken[key] for key in taken)

    def left_over(self, gpus: Gpus) -> int:
        """Return how many free GPUs stay beside a set."""
        taken = Counter(map(self._of, gpus))
        return sum(self._free[key] - taken[key] for key in taken)


def _elsewhere(
    nics: Iterable[Offer], gpus: Iterable[Offer], of: Callable[[Offer], Hashable]
) -> int:
    """Return how many NICs are below other switches, or on other nodes, than the GPUs."""
    there = set(map(of, gpus))
    return sum(of(nic) not in there for nic in nics)


def _place(gpu: Offer) -> str:
    return gpu.place


def _node(gpu: Offer) -> int | None:
    return gpu.node
