"""Offers as sentences have them."""

from collections.abc import Iterable

from pcietune.guest.stock.offer import Offer
from pcietune.guest.stock.refusals import ALLOW_FAILING, MODE_VM


def named(offers: Iterable[Offer]) -> str:
    """Return addresses for a sentence; ``none`` of none."""
    return ", ".join(str(offer.address) for offer in offers) or "none"


def counted(count: int, what: str) -> str:
    """Return a number of things for a sentence: ``1 GPU``, ``2 switches``."""
    plural = "es" if what.endswith("ch") else "s"
    return f"{count} {what}{'' if count == 1 else plural}"


def by_reason(offers: Iterable[Offer]) -> str:
    """Return what keeps offers from VMs, those with the same first reason together."""
    reasons: dict[str, list[Offer]] = {}
    for offer in offers:
        if offer.why_not:
            reasons.setdefault(offer.why_not[0], []).append(offer)
    return "; ".join(
        f"{named(those)}: {_of_several(why) if len(those) > 1 else why}"
        for why, those in reasons.items()
    )


def _of_several(why: str) -> str:
    """Return a phrase about one offer, for several of them."""
    return f"{why.removesuffix(' has it')} has them" if why.endswith(" has it") else why


def or_unless(hint: str, offers: Iterable[Offer]) -> str:
    """Return a hint, with what would let some of these offers be given."""
    options = sorted({offer.unless for offer in offers if offer.unless is not None})
    return "; ".join([hint, *(f"more by {option}{_BEFORE.get(option, '')}" for option in options)])


_BEFORE = {
    ALLOW_FAILING: ", or once what pcietune audit tells is cured",
    MODE_VM: ", or for good by pcietune mode vm",
}
