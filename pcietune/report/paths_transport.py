"""By what pairs move data, for people and as a part of the JSON of ``paths``."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby

import msgspec

from pcietune.address import PciAddress
from pcietune.tune.paths.guest_view import Guest
from pcietune.tune.paths.means import Better, Transport
from pcietune.tune.paths.view import Pair, PathsView, PeerKind

Transports = Mapping[tuple[PciAddress, PciAddress], Transport]

_KINDS = {PeerKind.GPU: "GPU to GPU", PeerKind.NIC: "NIC to GPU"}
_ORDER = tuple(_KINDS)
_FEW = 32  # pairs: `pcietune paths A B` tells of each
_TITLE = "Transport: what collective libraries can count on"


class BetterDocument(msgspec.Struct, kw_only=True, frozen=True):
    """Something better that cannot be counted on."""

    means: str
    bandwidth: str
    why: str


class TransportDocument(msgspec.Struct, kw_only=True, frozen=True):
    """What a pair's data goes by; docs/json.md explains each key."""

    means: str
    bandwidth: str
    better: list[BetterDocument]
    not_known: list[str]
    advice: list[str]


def transport_document(transport: Transport) -> TransportDocument:
    """Return what a pair's data goes by as a part of a document."""
    return TransportDocument(
        means=transport.means,
        bandwidth=transport.bandwidth,
        better=[
            BetterDocument(means=each.means, bandwidth=each.bandwidth, why=each.why)
            for each in transport.better
        ],
        not_known=list(transport.not_known),
        advice=list(transport.advice),
    )


def guest_lines(guest: Guest | None) -> Iterator[str]:
    """Yield what is to be said of a VM; nothing if it is none."""
    if guest is not None:
        yield from (f"note  {sentence}" for sentence in guest.sentences)


def transport_lines(pair: Pair, transports: Transports) -> Iterator[str]:
    """Yield what one pair's data goes by, and why by nothing better; nothing of a drive."""
    transport = transports.get((pair.one.function.address, pair.other.function.address))
    if transport is None:
        return
    yield ""
    yield f"transport  {_named(transport)}"
    yield from (f"  {_better(each)}" for each in transport.better)
    yield from (f"  not known here: {text}" for text in transport.not_known)
    yield from (f"  {text}" for text in transport.advice)


def transport_table(view: PathsView, transports: Transports) -> Iterator[str]:
    """Yield the same of all pairs, those that are alike together."""
    told = sorted(
        ((pair, transports[key]) for key, pair in view.pairs.items() if key in transports),
        key=lambda found: (_ORDER.index(found[0].one.kind), found[1].means, found[1].bandwidth),
    )
    if told:
        yield from ("", _TITLE)
    for kind, of_kind in groupby(told, lambda found: found[0].one.kind):
        pairs = list(of_kind)
        alike = groupby(pairs, lambda found: (found[1].means, found[1].bandwidth))
        for (means, bandwidth), members in alike:
            those = list(members)
            count = f"{len(those)} pair{'' if len(those) == 1 else 's'}"
            known = "" if bandwidth == means else f": {bandwidth}"  # else both say "not known"
            yield f"  {_KINDS[kind]}  {means}  {count}{known}"
            if len(those) < len(pairs) and len(those) <= _FEW:
                yield f"    {' '.join(f'{p.one.label}-{p.other.label}' for p, _ in those)}"
            yield from (
                f"    {_better(better)}" for better in _one_of_each(each for _, each in those)
            )
    for text in dict.fromkeys(text for _, each in told for text in each.not_known):
        yield f"  not known here: {text}"
    yield from dict.fromkeys(f"  {text}" for _, each in told for text in each.advice)


def _one_of_each(transports: Iterable[Transport]) -> Iterable[Better]:
    """Return the better means of any of these, each as the first of them has it."""
    first: dict[str, Better] = {}
    for transport in transports:
        for better in transport.better:
            first.setdefault(better.means, better)
    return first.values()


def _named(transport: Transport) -> str:
    both = f"{transport.means}: {transport.bandwidth}"
    return both if transport.bandwidth != transport.means else str(transport.means)


def _better(better: Better) -> str:
    return f"not {better.means}, {better.bandwidth}: {better.why}"
