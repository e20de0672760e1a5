"""What the links between the ports of a fabric carry, by their registers."""

from dataclasses import dataclass

from pcietune.address import PciAddress
from pcietune.errors import PcietuneError
from pcietune.model.access import HostAccess
from pcietune.model.fabric import Fabric
from pcietune.model.function import PciFunction
from pcietune.registers.express import Express, Link
from pcietune.tune.match.survey import is_gpu

_BITS = 8  # of a byte
_TEN_BITS = (8, 10)
_LONG_BLOCKS = (128, 130)
_FLITS = (242, 256)  # without CRC and FEC
_SLOWEST_BLOCKS, _SLOWEST_FLITS = 8.0, 64.0  # GT/s


def gigabytes(gigatransfers: float, lanes: int) -> float:
    """Return what a link carries one way after its coding, in 10^9 bytes a second.

    8b/10b up to 5 GT/s, 128b/130b up to 32 GT/s, and from 64 GT/s on FLITs of 256 bytes, of which
    14 are CRC and FEC (PCIe r6.0, 4.2.1 to 4.2.3). What headers and flow control take is not taken
    off.
    """
    payload, whole = _TEN_BITS
    if gigatransfers >= _SLOWEST_FLITS:
        payload, whole = _FLITS
    elif gigatransfers >= _SLOWEST_BLOCKS:
        payload, whole = _LONG_BLOCKS
    return gigatransfers * lanes * payload / whole / _BITS


@dataclass(frozen=True, slots=True)
class LinkRate:
    """The link below a port.

    Attributes:
        port: At its upper end.
        gigatransfers: In GT/s, that it is counted with: what it runs at, or of a GPU what both
            ends can, since drivers slow the links of idle GPUs down.
        lanes: That it runs with.
        running: In GT/s, what it runs at now.
        best: In GT/s and lanes, what both ends can.
    """

    port: PciFunction
    gigatransfers: float
    lanes: int
    running: float
    best: tuple[float, int]

    @property
    def gigabytes(self) -> float:
        """What it carries one way, in 10^9 bytes a second."""
        return gigabytes(self.gigatransfers, self.lanes)

    @property
    def text(self) -> str:
        """What it is, as lspci has it: ``16 GT/s x16``."""
        return _named(self.gigatransfers, self.lanes)

    @property
    def degraded(self) -> str | None:
        """How it runs below what both ends can, in half a sentence; None if it does not."""
        if (self.running, self.lanes) == self.best:
            return None
        now, best = _named(self.running, self.lanes), _named(*self.best)
        idle = ""
        if self.gigatransfers != self.running:
            idle = ", which an idle GPU's may: look again while it works"
        return f"the link below {self.port.address} runs at {now} of {best}{idle}"


class LinkRates:
    """Reads the links below those ports that are asked for, each once."""

    def __init__(self, host: HostAccess, fabric: Fabric) -> None:
        self._host = host
        self._fabric = fabric
        self._known: dict[PciAddress, LinkRate | None] = {}

    def __call__(self, port: PciFunction) -> LinkRate | None:
        """Return the link below a port; None if it could not be read, or reports no link.

        A virtual machine's ports report none, or one that nothing is slowed down by.
        """
        if port.address not in self._known:
            try:
                self._known[port.address] = self._read(port)
            except PcietuneError:
                self._known[port.address] = None
        return self._known[port.address]

    def _read(self, port: PciFunction) -> LinkRate | None:
        below = next(iter(self._fabric.children(port)), None)
        upper = Express.find(self._host.config(port))
        lower = None if below is None else Express.find(self._host.config(below))
        ends = [end for end in (upper, lower) if end is not None]
        now = next((end.link for end in ends if end.link.speed and end.link.lanes), None)
        if now is None or now.speed is None:
            return None
        best = _best(now, [end.link_capable for end in ends])
        counted = now.speed if below is None or not is_gpu(below) else best[0]
        return LinkRate(port, counted, now.lanes, now.speed, best)


def _best(now: Link, capable: list[Link]) -> tuple[float, int]:
    """Return what both ends can, at least what runs now: a code that is not known tells nothing."""
    speeds = [link.speed for link in capable if link.speed is not None]
    lanes = [link.lanes for link in capable if link.lanes]
    least = now.speed or 0.0
    return max(least, min(speeds, default=least)), max(now.lanes, min(lanes, default=now.lanes))


def _named(gigatransfers: float, lanes: int) -> str:
    return f"{gigatransfers:g} GT/s x{lanes}"
