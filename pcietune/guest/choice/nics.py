"""Picks the NICs that go with GPUs, nearest first."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from pcietune.address import PciAddress
from pcietune.guest.choice.nic_share import Share, share_of
from pcietune.guest.stock.offer import Card, Offer, Stock


@dataclass(frozen=True, slots=True)
class Picked:
    """The NICs of a VM.

    Attributes:
        offers: What of each NIC it gets.
        cards: How many NICs these are of.
        wanted: How many NICs it was to get.
        short: Cards that it would have got, were they to be had.
    """

    offers: tuple[Offer, ...]
    cards: int
    wanted: int
    short: tuple[Card, ...]


def pick_nics(
    stock: Stock, gpus: Sequence[Offer], count: int | None, given: Collection[Card] = ()
) -> Picked:
    """Return the NICs for a VM of these GPUs.

    Args:
        stock: What the host has.
        gpus: Those of the VM.
        count: How many; None for the GPUs' share in those below their own switches.
        given: Cards of which the VM has something already.
    """
    held = frozenset(address for gpu in gpus for address in gpu.addresses)
    if count is not None:
        cards = [card for card in stock.cards if card not in given]
        return _pick(_nearest(cards, gpus), gpus, held, Share(count, 0))
    parts = []
    for place in dict.fromkeys(gpu.switch for gpu in gpus if gpu.switch is not None):
        here = [gpu for gpu in gpus if gpu.switch == place]
        cards = [card for card in stock.cards if card.whole.switch == place]
        of_gpus = sum(gpu.switch == place for gpu in stock.gpus)
        share = share_of(len(here), of_gpus, len(cards))
        free = [card for card in cards if card not in given]
        parts.append(_pick(_nearest(free, here), here, held, share))
    return Picked(
        offers=tuple(offer for part in parts for offer in part.offers),
        cards=sum(part.cards for part in parts),
        wanted=sum(part.wanted for part in parts),
        short=tuple(card for part in parts for card in part.short),
    )


def parts_of(card: Card, held: Collection[PciAddress], *, shared: bool) -> tuple[Offer, ...]:
    """Return what a VM gets of a NIC: itself, or a VF of each of its ports; empty if nothing.

    Args:
        card: The NIC.
        held: The other functions of the VM.
        shared: Whether other VMs need a part of it, too.
    """
    if not shared and not card.has_vfs:
        return (card.whole,) if _is_free(card.whole, held) else ()
    free = [next((vf for vf in port if _is_free(vf, held)), None) for port in card.ports if port]
    found = tuple(vf for vf in free if vf is not None)
    return found if len(found) == len(free) else ()


def _is_free(offer: Offer, held: Collection[PciAddress]) -> bool:
    return not offer.why_not and offer.mates.issubset(held)


def _pick(
    cards: Sequence[Card], gpus: Sequence[Offer], held: Collection[PciAddress], share: Share
) -> Picked:
    """Return the first cards that can be given; those beyond the whole ones as shared."""
    offers: list[Offer] = []
    short = []
    count = 0
    for card in _with_mates_first(cards, gpus):
        if count == share.nics:
            break
        parts = parts_of(card, held, shared=count >= share.whole)
        if parts:
            offers += parts
            count += 1
        else:
            short.append(card)
    return Picked(tuple(offers), count, share.nics, tuple(short) if count < share.nics else ())


def _with_mates_first(cards: Iterable[Card], gpus: Iterable[Offer]) -> list[Card]:
    """Return the cards, those first that share an IOMMU group with a GPU: they must go along."""
    mates = frozenset(address for gpu in gpus for address in gpu.mates)
    return sorted(cards, key=lambda card: mates.isdisjoint(card.whole.addresses))


def _nearest(cards: Iterable[Card], gpus: Sequence[Offer]) -> list[Card]:
    """Return the cards in the order in which GPUs take the nearest in turn.

    Nearest is what shares most switches, then what is on the same NUMA node; then what nobody has
    a VF of; then what stands first.
    """
    left = list(cards)
    ordered = []
    turns = _in_turn(gpus)
    while left:
        gpu = next(turns, None)
        nearest = min(left, key=lambda card: (*_distance(card, gpu), _used(card), card.whole.order))
        left.remove(nearest)
        ordered.append(nearest)
    return ordered


def _in_turn(gpus: Sequence[Offer]) -> Iterator[Offer]:
    """Yield GPUs again and again, one of each switch before the second of any."""
    counts: Counter[str] = Counter()
    rows: list[tuple[int, Offer]] = []
    for gpu in gpus:
        rows.append((counts[gpu.place], gpu))
        counts[gpu.place] += 1
    ordered = [gpu for _, gpu in sorted(rows, key=lambda row: row[0])]
    while ordered:
        yield from ordered


def _distance(card: Card, gpu: Offer | None) -> tuple[int, bool]:
    if gpu is None:
        return 0, False
    nic = card.whole
    common = sum(one == other for one, other in zip(nic.switches, gpu.switches, strict=False))
    return -common, nic.node != gpu.node


def _used(card: Card) -> int:
    return sum(bool(vf.why_not) for port in card.ports for vf in port)
