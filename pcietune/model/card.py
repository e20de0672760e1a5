"""Which functions are one card: what is plugged in, replaced and counted as one."""

from collections.abc import Iterable

from pcietune.model.fabric import Fabric
from pcietune.model.function import PciFunction

_MELLANOX = 0x15B3
_IN_CARD_BRIDGES = frozenset({0x1976, 0x1977, 0x1978, 0x1979, 0x197B, 0x197C, 0x197D, 0x197E})
"""Ports of the switch within a ConnectX-6, ConnectX-6 Dx, BlueField-2, ConnectX-7, BlueField-3 and
later, below which their functions stand (pci.ids, vendor 15b3)."""

Card = tuple[PciFunction, ...]
"""Functions of one card, in the order of addresses."""


def cards(fabric: Fabric, functions: Iterable[PciFunction]) -> tuple[Card, ...]:
    """Return ``functions`` card by card, in the order of their first addresses.

    The functions of one slot are a card, as the two ports of a NIC are, and so are a NIC's below
    the switch within it. GPUs that stand there, too, are plugged into that switch (ConnectX-8). A
    card that is plugged into two slots (Socket Direct, multi-host) counts as two: only its serial
    number tells.
    """
    found: dict[tuple[int, int, int], list[PciFunction]] = {}
    for function in sorted(functions, key=lambda each: each.address):
        found.setdefault(_outermost(fabric, function).slot, []).append(function)
    return tuple(tuple(card) for card in found.values())


def _outermost(fabric: Fabric, function: PciFunction) -> PciFunction:
    """Return the function of the card that is nearest to the root: its switch's upstream port."""
    if function.vendor != _MELLANOX:
        return function
    outermost = function
    for port in reversed(fabric.ports_above(function)):
        if port.vendor != _MELLANOX or port.device not in _IN_CARD_BRIDGES:
            break
        outermost = port
    return outermost
