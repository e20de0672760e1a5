"""Chooses the GPUs, NICs and NVSwitches of a VM."""

from collections.abc import Sequence
from dataclasses import replace

from pcietune.guest.cells import Room
from pcietune.guest.choice.candidates import Gpus, candidates, is_whole, of_partitions
from pcietune.guest.choice.choice import Choice
from pcietune.guest.choice.named import check_whole, named_offers
from pcietune.guest.choice.nics import Picked, pick_nics
from pcietune.guest.choice.nvlink import NvLink
from pcietune.guest.choice.rank import Ranking
from pcietune.guest.choice.reasons import reasons
from pcietune.guest.choice.shortage import no_partition, too_few_gpus, too_few_nics
from pcietune.guest.choice.switches import partition_held, switches_for
from pcietune.guest.choice.warnings import warnings
from pcietune.guest.kinds import Kind
from pcietune.guest.nvswitch.partition import Table
from pcietune.guest.stock.offer import Offer, Stock
from pcietune.guest.wish import Wish

_POOR = "passed over: GPUs whose NUMA nodes have not the CPUs or the memory that are wanted"


def choose(stock: Stock, wish: Wish, nvlink: NvLink, room: Room | None = None) -> Choice:
    """Return what a VM gets: what was named, or else the best that is free.

    Args:
        stock: What the host has.
        wish: What is wanted of the VM.
        nvlink: Its NVSwitches.
        room: Which nodes have the CPUs and memory; None if that binds nobody. Where those of no
            GPUs that are as near to each other have, it is left to whoever shares them out to tell.

    Raises:
        BadInputError: The host cannot give it; the message says what it can.
    """
    partitions = nvlink.partitions(stock)
    poor = False
    if wish.functions:
        named = named_offers(stock, wish.functions)
        gpus = tuple(each for each in named if each.chosen.kind is Kind.GPU)
        switches = tuple(each for each in named if each.chosen.kind is Kind.NVSWITCH)
        picked = _nics_of(stock, gpus, named, wish.nics)
        held = partition_held(stock, gpus, partitions)
    else:
        sets = _sets(stock, wish, partitions)
        rank = Ranking(stock, _free(stock), wish.nics, partitions)
        gpus = min(sets, key=rank)
        if room is not None and not _has(room, gpus):
            least = rank.own_losses(gpus)
            roomy = [each for each in sets if _has(room, each) and rank.own_losses(each) == least]
            poor = bool(roomy)
            gpus = min(roomy, key=rank, default=gpus)
        picked = pick_nics(stock, gpus, wish.nics)
        if picked.cards < picked.wanted:
            raise too_few_nics(stock, picked)
        switches = switches_for(stock, len(gpus), nvlink)
        held = partition_held(stock, gpus, partitions)
    chosen = Choice(gpus, picked.offers, switches, held, (), ())
    check_whole(stock, chosen.offers)
    return replace(
        chosen,
        reasons=(*reasons(stock, chosen, by_name=bool(wish.functions)), *([_POOR] if poor else [])),
        warnings=tuple(warnings(stock, chosen, wish, nvlink)),
    )


def _sets(stock: Stock, wish: Wish, partitions: Table) -> list[Gpus]:
    """Return the sets of GPUs that the VM could get.

    Raises:
        BadInputError: There is none of that size.
    """
    count = wish.gpus or 0
    free = _free(stock)
    cards = [card.whole for card in stock.cards if not card.whole.why_not]
    nics = {address for card in cards for address in card.addresses}

    def fitting(number: int) -> list[Gpus]:
        return [gpus for gpus in candidates(free, number) if is_whole(gpus, nics)]

    sets = fitting(count)
    if count < 1 or not sets:
        raise too_few_gpus(stock, free, count, lambda number: bool(fitting(number)))
    if partitions:
        found = of_partitions(free, partitions, stock.modules, count)
        sets = [gpus for gpus in found if is_whole(gpus, nics)]
        if not sets:
            raise no_partition(free, count, _free_sizes(stock, free, partitions))
    return sets


def _free(stock: Stock) -> list[Offer]:
    return [gpu for gpu in stock.gpus if not gpu.why_not]


def _has(room: Room, gpus: Gpus) -> bool:
    return room.has([gpu.chosen for gpu in gpus])


def _free_sizes(stock: Stock, free: Sequence[Offer], partitions: Table) -> list[int]:
    modules = {stock.modules[gpu.address] for gpu in free}
    return [len(each.modules) for each in partitions if each.modules <= modules]


def _nics_of(stock: Stock, gpus: Gpus, named: Sequence[Offer], count: int | None) -> Picked:
    """Return the NICs beside what was named: those, and as many more as are asked for.

    Where no NIC was named nor counted, the share of the GPUs.

    Raises:
        BadInputError: The host cannot give them.
    """
    given = tuple(each for each in named if each.chosen.kind is Kind.NIC)
    cards = [
        card
        for card in stock.cards
        if any(each in given for each in (card.whole, *(vf for port in card.ports for vf in port)))
    ]
    if given and count is None:
        return Picked(given, len(cards), len(cards), ())
    more = None if count is None else max(count - len(cards), 0)
    picked = pick_nics(stock, gpus, more, cards)
    if picked.cards < picked.wanted:
        raise too_few_nics(stock, picked)
    return replace(picked, offers=(*given, *picked.offers))
