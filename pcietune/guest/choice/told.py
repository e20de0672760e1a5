"""Offers as sentences have them."""

from collections.abc import Iterable

from pcietune.guest.stock.offer import Offer


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
    return "; ".join(f"{named(those)}: {why}" for why, those in reasons.items())
