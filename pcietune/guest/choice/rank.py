"""Ranks sets of GPUs: near to each other and to their NICs, and at the least loss for others."""

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass

from pcietune.guest.choice.candidates import Gpus
from pcietune.guest.choice.nics import pick_nics
from pcietune.guest.nvswitch.partition import Partition
from pcietune.guest.stock.offer import Offer, Stock

Rank = tuple[
    int, int, int, int, int, int, int, list[int], int, int, int, int, list[tuple[int, str]]
]


@dataclass(frozen=True, slots=True)
class Ranking:
    """What sets of GPUs are ranked by.

    Attributes:
        stock: What the host has.
        free: The GPUs of it that this VM can get.
        nics: How many NICs it is to get; None for its share.
        partitions: All of the NVSwitches; empty if no module is known.
    """

    stock: Stock
    free: Sequence[Offer]
    nics: int | None
    partitions: Collection[Partition] = ()

    def __call__(self, gpus: Gpus) -> Rank:
        """Return what compares a set with others of the same size: the least is the best.

        First what the VM itself loses, then what the next one does, then the order on the host,
        which tells any two apart.
        """
        picked = pick_nics(self.stock, gpus, self.nics)
        return (
            sum(len(gpu.failing) for gpu in gpus),
            picked.wanted - picked.cards,
            len({gpu.node for gpu in gpus}),
            len({gpu.place for gpu in gpus}),
            len({gpu.switches or gpu.place for gpu in gpus}),
            _elsewhere(picked.offers, gpus, _node),
            _elsewhere(picked.offers, gpus, _place),
            self._partitions_lost(gpus),
            self._broken(gpus, _place),
            self._broken(gpus, _node),
            self._left_over(gpus, _place),
            self._left_over(gpus, _node),
            [gpu.order for gpu in gpus],
        )

    def _partitions_lost(self, gpus: Gpus) -> list[int]:
        """Return how many partitions no longer are free, those of most GPUs first."""
        modules = {self.stock.modules[g.address] for g in gpus} if self.partitions else set()
        sizes = sorted({len(partition.modules) for partition in self.partitions}, reverse=True)
        free = {self.stock.modules[g.address] for g in self.free} if self.partitions else set()
        lost = Counter(
            len(partition.modules)
            for partition in self.partitions
            if partition.modules <= free and not partition.modules.isdisjoint(modules)
        )
        return [lost[size] for size in sizes]

    def _broken(self, gpus: Gpus, of: Callable[[Offer], Hashable]) -> int:
        """Return how many switches or nodes had all their GPUs free, and have only some now."""
        before, taken, all_there = (
            Counter(map(of, some)) for some in (self.free, gpus, self.stock.gpus)
        )
        return sum(before[key] == all_there[key] != taken[key] for key in taken)

    def _left_over(self, gpus: Gpus, of: Callable[[Offer], Hashable]) -> int:
        """Return how many free GPUs stay beside the set, below its switches or on its nodes."""
        before, taken = Counter(map(of, self.free)), Counter(map(of, gpus))
        return sum(before[key] - taken[key] for key in taken)


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
