"""How much a way can carry: its narrowest link, and who shares it. All of it is estimated."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from pcietune.address import PciAddress
from pcietune.model.access import HostAccess
from pcietune.model.fabric import Fabric
from pcietune.model.function import PciFunction
from pcietune.model.trace import Decision, Outcome, Trace
from pcietune.tune.paths.links import LinkRate, LinkRates
from pcietune.tune.paths.place import Place
from pcietune.tune.paths.view import Peer, PeerKind

_NEVER = (Outcome.BLOCKED, Outcome.MISROUTED)
_REPORTS = "public reports of VMs without ATS have 50 to 60 % of bare metal"


class BandwidthClass(StrEnum):
    """By what a way is limited."""

    SWITCH = "across the switch"
    UPLINK = "twice over the shared uplink"
    ROOT = "through the root complex"
    SOCKET = "between sockets"
    NONE = "nothing arrives"
    UNKNOWN = "not known"


@dataclass(frozen=True, slots=True)
class Bandwidth:
    """What a way can carry.

    Attributes:
        klass: By what it is limited.
        narrowest: The narrowest link on it; None if it crosses none, or none could be read.
        sharers: How many GPUs and NICs are below the link on it that most of them are below.
        uplink: The port above the link that every byte crosses twice, and most are below; None if
            none is.
        unread: The ports on it whose link is not known.
    """

    klass: BandwidthClass
    narrowest: LinkRate | None = None
    sharers: int = 0
    uplink: PciFunction | None = None
    unread: tuple[PciFunction, ...] = ()

    @property
    def gigabytes(self) -> float | None:
        """The most that it can carry one way, in 10^9 bytes a second; None if not known."""
        return None if self.narrowest is None else self.narrowest.gigabytes

    @property
    def short(self) -> str:
        """What a cell or a line of many has room for: an estimate, after line coding."""
        if self.klass is BandwidthClass.NONE:
            return "nothing"
        if self.narrowest is None:
            return "?"
        figure = f"{self.narrowest.gigabytes:.3g} GB/s"
        if self.klass is BandwidthClass.SWITCH:
            return figure
        shared = self.klass is BandwidthClass.UPLINK
        return f"<={figure}, shared by {self.sharers}" if shared else f"<={figure}"

    @property
    def text(self) -> str:
        """What it can carry, by what that is limited, and what of it is not known."""
        if self.klass is BandwidthClass.NONE:
            return f"{self.klass}"
        if self.narrowest is None:
            return "; ".join((self._without_links(), *self._beside()))
        rate = self.narrowest
        figure = f"{rate.gigabytes:.3g} GB/s"
        basis = f"estimate: {rate.text} below {rate.port.address}"
        told = {
            BandwidthClass.SWITCH: f"{figure} each way ({basis})",
            BandwidthClass.UPLINK: f"at most {figure}, and that of {self._shared()} ({basis}; "
            f"{_REPORTS})",
            BandwidthClass.ROOT: f"at most {figure}, {self.klass} ({basis})",
            BandwidthClass.SOCKET: f"at most {figure}, and that of the link {self.klass}, which "
            f"PCI does not tell ({basis})",
        }
        unknown = f"at most {figure} ({basis})"
        return "; ".join((told.get(self.klass, unknown), *self._beside()))

    def _shared(self) -> str:
        where = "" if self.uplink is None else f" below {self.uplink.address}"
        return f"the uplink{where}, which {self.sharers} peers share and every byte crosses twice"

    def _without_links(self) -> str:
        if self.klass is BandwidthClass.SWITCH and not self.unread:
            return "that of one device: no link is crossed"
        if self.klass is BandwidthClass.UNKNOWN:
            return f"{self.klass}"
        return f"{self.klass}, and how much that carries is not known"

    def _beside(self) -> Sequence[str]:
        degraded = None if self.narrowest is None else self.narrowest.degraded
        unread = [f"the link below {port.address} is not known" for port in self.unread]
        return unread if degraded is None else [degraded, *unread]


class BandwidthOf:
    """Estimates what ways of one host can carry, and reads each link once."""

    def __init__(self, host: HostAccess, fabric: Fabric, peers: Iterable[Peer]) -> None:
        self._fabric = fabric
        self._rates = LinkRates(host, fabric)
        self._sharing = _sharing(peers)

    def __call__(self, trace: Trace, place: Place) -> Bandwidth:
        """Return what a way can carry.

        Args:
            trace: The way.
            place: How far apart its two ends are.
        """
        if trace.outcome in _NEVER:
            return Bandwidth(BandwidthClass.NONE)
        if trace.outcome is Outcome.UNKNOWN:
            return Bandwidth(BandwidthClass.UNKNOWN)
        up = [s.port for s in trace.steps if s.port and s.decision is not Decision.DOWN]
        down = [s.port for s in trace.steps if s.port and s.decision is Decision.DOWN]
        crossed = [port for port in dict.fromkeys((*up, *down)) if self._has_link(port)]
        twice = [port for port in crossed if port in up and port in down]
        busiest = max(twice, key=self._sharers, default=None)
        return self._over(crossed, _class_of(trace, place, twice=bool(twice)), busiest)

    def to_host(self, function: PciFunction) -> Bandwidth:
        """Return what copies between a function and the host's memory can carry."""
        ports = [port for port in self._fabric.ports_above(function) if self._has_link(port)]
        return self._over(ports, BandwidthClass.ROOT, None)

    def _over(
        self, crossed: list[PciFunction], klass: BandwidthClass, uplink: PciFunction | None
    ) -> Bandwidth:
        rates = [(port, self._rates(port)) for port in crossed]
        known = [rate for _, rate in rates if rate is not None]
        return Bandwidth(
            klass=klass,
            narrowest=min(known, key=lambda rate: rate.gigabytes, default=None),
            sharers=max(map(self._sharers, crossed if uplink is None else [uplink]), default=0),
            uplink=uplink,
            unread=tuple(port for port, rate in rates if rate is None),
        )

    def _sharers(self, port: PciFunction) -> int:
        return self._sharing[port.address]

    def _has_link(self, port: PciFunction) -> bool:
        return self._fabric.receives(port)


def _class_of(trace: Trace, place: Place, *, twice: bool) -> BandwidthClass:
    if twice:
        return BandwidthClass.UPLINK
    if trace.outcome is Outcome.DIRECT:
        return BandwidthClass.SWITCH
    known = {Place.SYS: BandwidthClass.SOCKET, Place.UNKNOWN: BandwidthClass.UNKNOWN}
    return known.get(place, BandwidthClass.ROOT)


def _sharing(peers: Iterable[Peer]) -> Counter[PciAddress]:
    """Return how many devices that are GPUs or NICs are below each port: one below each link."""
    devices = {peer.function.ports for peer in peers if peer.kind is not PeerKind.NVME}
    return Counter(port for above in devices for port in above)
