"""The functions that somebody named for a VM."""

from collections.abc import Iterable, Sequence

from pcietune.address import PciAddress
from pcietune.errors import BadInputError
from pcietune.guest.choice.told import by_reason, named, or_unless
from pcietune.guest.kinds import Kind
from pcietune.guest.stock.offer import Offer, Stock


def named_offers(stock: Stock, names: Iterable[str]) -> tuple[Offer, ...]:
    """Return the offers of functions by address or location, in the order of locations.

    One that is named by a companion is given whole.

    Raises:
        BadInputError: There is no such function to be given, or something keeps it from VMs.
    """
    found: dict[PciAddress, Offer] = {}
    for name in names:
        offer = _offer(stock, name)
        if offer.why_not:
            raise BadInputError(
                f"{offer.address} cannot be given: {'; '.join(offer.why_not)}",
                hint=or_unless(_others(stock, offer.chosen.kind), [offer]),
            )
        found[offer.address] = offer
    return tuple(sorted(found.values(), key=lambda offer: offer.order))


def check_whole(stock: Stock, offers: Sequence[Offer]) -> None:
    """Do nothing if no IOMMU group is torn apart by giving these.

    Raises:
        BadInputError: One is.
    """
    held = {address for offer in offers for address in offer.addresses}
    for offer in offers:
        torn = sorted(offer.mates - held)
        if torn:
            kept = by_reason(o for o in (stock.owner(address) for address in torn) if o is not None)
            together = " ".join(f"--function {address}" for address in (offer.address, *torn))
            raise BadInputError(
                f"{offer.address}: its IOMMU group would be torn apart, for it also holds"
                f" {', '.join(map(str, torn))}",
                hint=f"its rest cannot be given: {kept}" if kept else f"name all: {together}",
            )


def _offer(stock: Stock, name: str) -> Offer:
    for offer in stock.offers():
        functions = (offer.chosen.function, *(each.function for each in offer.chosen.companions))
        if any(name == function.location for function in functions):
            return offer
    address = PciAddress.parse(name)
    below = [each for each in stock.offers() if address in each.chosen.function.ports]
    if below:
        raise BadInputError(
            f"{name} is a port, and no VM gets that: it gets what is below",
            hint=f"name what is wanted of it: {named(e for e in below if not e.why_not)}",
        )
    owner = stock.owner(address)
    if owner is None:
        raise BadInputError(
            f"{name} is none of the GPUs, NICs and NVSwitches of this host that VMs can get",
            hint=f"GPUs that can be given: {named(_free(stock, Kind.GPU))}",
        )
    return owner


def _others(stock: Stock, kind: Kind) -> str:
    """Return what could be named instead."""
    return f"those of its kind that can be given: {named(_free(stock, kind))}"


def _free(stock: Stock, kind: Kind) -> list[Offer]:
    return [each for each in stock.offers() if each.chosen.kind is kind and not each.why_not]
