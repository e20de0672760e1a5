"""What to say where a host cannot give what is wanted, with the nearest that it can."""

from collections.abc import Callable, Collection, Iterator, Sequence

from pcietune.errors import BadInputError
from pcietune.guest.choice.nics import Picked
from pcietune.guest.choice.told import by_reason, counted, named, or_unless
from pcietune.guest.stock.offer import Card, Offer, Stock
from pcietune.guest.stock.refusals import ONLY_VFS

_TORN = "its IOMMU group would be torn apart"


def too_few_gpus(
    stock: Stock, free: Sequence[Offer], wanted: int, can: Callable[[int], bool]
) -> BadInputError:
    """Return what to say of a number of GPUs that the host cannot give.

    Args:
        stock: What it has.
        free: The GPUs that can be given.
        wanted: How many are wanted.
        can: Tells whether it can give so many to one VM.
    """
    possible = [count for count in range(1, len(free) + 1) if can(count)]
    nearest = min(possible, key=lambda count: (abs(count - wanted), count), default=None)
    kept = by_reason(stock.gpus)
    hint = "cure one of these; pcietune audit and pcietune vfio show tell more"
    if nearest is not None:
        hint = f"the nearest number that it can give: --gpus {nearest}"
    hint = or_unless(hint, stock.gpus)
    if len(free) < wanted:
        can_give = counted(len(free), "GPU")
        if not free:
            return BadInputError(f"the host can give no GPU: {kept or 'it has none'}", hint=hint)
        return BadInputError(
            f"the host can give {can_give}, {named(free)}, not {wanted}"
            + (f"; {kept}" if kept else ""),
            hint=hint,
        )
    return BadInputError(
        f"no {counted(wanted, 'GPU')} of the {len(free)} that the host can give go together"
        " without tearing an IOMMU group apart",
        hint=hint,
    )


def no_partition(free: Collection[Offer], wanted: int, sizes: Sequence[int]) -> BadInputError:
    """Return what to say where no free partition of the NVSwitches has so many GPUs.

    Args:
        free: The GPUs that can be given.
        wanted: How many are wanted.
        sizes: How many GPUs the partitions have that are free.
    """
    numbers = sorted(set(sizes))
    nearest = min(numbers, key=lambda size: (abs(size - wanted), size), default=None)
    hint = "no partition is free"
    if nearest is not None:
        hint = f"the nearest number that a free partition has: --gpus {nearest}"
    return BadInputError(
        f"no partition of the NVSwitches holds just {counted(wanted, 'GPU')} of {named(free)}",
        hint=hint,
    )


def too_few_nics(stock: Stock, picked: Picked) -> BadInputError:
    """Return what to say of NICs that the VM should have, and the host cannot give."""
    why = "; ".join(f"{card.whole.address}: {_why(card)}" for card in picked.short)
    return BadInputError(
        f"the VM should have {counted(picked.wanted, 'NIC')}, and the host can give"
        f" {picked.cards} near to its GPUs" + (f"; {why}" if why else ""),
        hint="; ".join(_ways(stock, picked)),
    )


def _ways(stock: Stock, picked: Picked) -> Iterator[str]:
    """Yield what could be done instead."""
    lacking = next((c for c in picked.short if _needs_vfs(c) and c.total_vfs != 0), None)
    if lacking is not None:
        yield _switch_on(stock, lacking)
    if any(not card.whole.why_not and not card.whole.mates for card in picked.short):
        yield f"--nics {picked.wanted} takes whole ones from the other GPUs"
    yield or_unless(f"--nics {picked.cards} does with fewer", (card.whole for card in picked.short))


def _why(card: Card) -> str:
    """Return why a VM gets nothing of a card."""
    if card.has_vfs:
        kept = by_reason(vf for port in card.ports for vf in port)
        return f"none of its VFs can be given: {kept}" if kept else _TORN
    if not _needs_vfs(card):
        return "; ".join(card.whole.why_not)
    if card.whole.mates:
        return _TORN
    are = "and it has none" if card.total_vfs == 0 else "and those are off"
    return f"only a VF of it can be given, {are}"


def _needs_vfs(card: Card) -> bool:
    """Return whether nothing but that keeps it from the VM that it has no VFs."""
    return not card.has_vfs and all(why == ONLY_VFS for why in card.whole.why_not)


def _switch_on(stock: Stock, card: Card) -> str:
    """Return how a card gets a VF for each GPU beside it, none of which a driver takes."""
    gpus = sum(gpu.place == card.whole.place for gpu in stock.gpus)
    count = gpus if card.total_vfs is None else min(gpus, card.total_vfs)
    device = f"/sys/bus/pci/devices/{card.whole.address}"
    return (
        f"echo 0 > {device}/sriov_drivers_autoprobe; echo {max(count, 1)} > {device}/sriov_numvfs"
    )
