"""All pairs of a host's GPUs, NICs and NVMe drives: what ``paths`` and ``report`` show."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from pcietune.address import PciAddress
from pcietune.errors import PcietuneError
from pcietune.model.function import PciFunction
from pcietune.model.profile import ModeName
from pcietune.tune.paths.change import Cure
from pcietune.tune.paths.flow import Flow
from pcietune.tune.paths.place import Place


class PeerKind(StrEnum):
    """What takes part in pairs."""

    GPU = "gpu"
    NIC = "nic"
    NVME = "nvme"


@dataclass(frozen=True, slots=True)
class Peer:
    """A function that takes part in pairs.

    Attributes:
        function: Which; of a NIC its PF, which stands for VFs that are alike.
        kind: What it is.
        label: Short and unique on this host: ``GPU0``, ``NIC3``.
        numa_node: None if not known, or firmware did not say.
        virtual_functions: How many VFs it stands for, too.
    """

    function: PciFunction
    kind: PeerKind
    label: str
    numa_node: int | None
    virtual_functions: int = 0


@dataclass(frozen=True, slots=True)
class Ways:
    """Both directions between two functions.

    Attributes:
        forth: The first is the requester.
        back: The second is.
    """

    forth: Flow
    back: Flow


@dataclass(frozen=True, slots=True)
class Pair:
    """Two peers and the ways between them.

    Attributes:
        one: The first: of a NIC and a GPU, the NIC; of an NVMe drive and a GPU, the drive.
        other: The second.
        place: How far apart they are.
        now: As the registers are.
        once: As they are once the profile holds; None where no mode or profile is known.
        cures: What makes the first's writes to the second direct, and the second's to the first;
            None where nobody looked for it.
        apart: Whose they are, if they belong to different owners, so that no VM's domain maps the
            other's BAR; None if they go together, or that is not known.
        notes: What else to know, as that ACS is not to blame.
    """

    one: Peer
    other: Peer
    place: Place
    now: Ways
    once: Ways | None
    cures: tuple[Cure, Cure] | None = None
    apart: str | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PathsView:
    """A host's pairs.

    Attributes:
        peers: GPUs, then NICs, then NVMe drives, each in the order of addresses.
        pairs: By the addresses of ``one`` and ``other``; of each two peers once.
        mode: The host's duty that ``once`` is about; None if none is known.
        problems: What could not be read.
        notes: What holds for many pairs: what this source does not tell, p2pdma's list, iommufd.
    """

    peers: tuple[Peer, ...]
    pairs: Mapping[tuple[PciAddress, PciAddress], Pair]
    mode: ModeName | None
    problems: tuple[PcietuneError, ...]
    notes: tuple[str, ...]

    def of_kind(self, kind: PeerKind) -> tuple[Peer, ...]:
        """Return the peers of one kind."""
        return tuple(peer for peer in self.peers if peer.kind is kind)

    def between(self, one: Peer, other: Peer) -> Pair | None:
        """Return the pair of two peers, whichever comes first in it; None if they are none."""
        addresses = (one.function.address, other.function.address)
        return self.pairs.get(addresses) or self.pairs.get((addresses[1], addresses[0]))
