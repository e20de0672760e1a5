"""From a host to all of its pairs, with the ways between them."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations, product

from pcietune.address import PciAddress
from pcietune.model.access import HostAccess
from pcietune.model.fabric import Fabric
from pcietune.model.packet import AddressSpace
from pcietune.model.profile import ModeName
from pcietune.model.role_name import RoleName
from pcietune.model.route import ControlsOf
from pcietune.tune.audit.audit import Audit
from pcietune.tune.audit.duties import modes_of
from pcietune.tune.paths.change import Cure
from pcietune.tune.paths.controls import ControlsReader, once_written
from pcietune.tune.paths.cures import Cures
from pcietune.tune.paths.flow import flow
from pcietune.tune.paths.guest_view import why_a_vm
from pcietune.tune.paths.guests import guests_of
from pcietune.tune.paths.notes import Notes
from pcietune.tune.paths.once import SendersOnce, wanted_controls
from pcietune.tune.paths.ownership import different_owners
from pcietune.tune.paths.peers import find_peers, physical_peers
from pcietune.tune.paths.place import place
from pcietune.tune.paths.sender import Sender
from pcietune.tune.paths.senders import Senders
from pcietune.tune.paths.view import Pair, PathsView, Peer, PeerKind, Ways


@dataclass(frozen=True, slots=True)
class Look:
    """How a host is looked at.

    Attributes:
        mode: Its duty where it is not judged; None if that is not known.
        vfs: Whether each VF stands for itself, and not its PF for those that are alike.
        mapped: Of functions that VMs have in use, whether VFIO maps peers' BARs for them; None of
            those of which that is not known.
        users: Of functions that VMs have in use, which.
    """

    mode: ModeName | None = None
    vfs: bool = False
    mapped: Mapping[PciAddress, bool | None] = field(default_factory=dict)
    users: Mapping[PciAddress, str] = field(default_factory=dict)


PLAIN_LOOK = Look()


def view_paths(
    host: HostAccess,
    fabric: Fabric,
    roles: Mapping[PciAddress, RoleName],
    audited: Audit | None = None,
    look: Look = PLAIN_LOOK,
) -> PathsView:
    """Return a host's pairs: each NIC, each NVMe drive and each other GPU with each GPU.

    Args:
        host: Where states and registers come from.
        fabric: Its functions, with port types for all bridges above GPUs, NICs and drives.
        roles: Which function has which role; empty where no profile describes the host.
        audited: The host, judged; None where no mode or no profile is known.
        look: How it is looked at.
    """
    physical = list(physical_peers(host, fabric, roles))
    duty = look.mode if audited is None else audited.mode
    guests = guests_of(physical, roles, audited, duty)
    senders = Senders(host, fabric, guests, look.mapped)
    peers = find_peers(fabric, physical, senders, vfs=look.vfs)
    controls = ControlsReader(host, fabric)
    now = _Ways(fabric, controls, lambda peer: senders(peer.function), look.users)
    once = None
    if audited is not None:
        by_profile = SendersOnce(audited, guests, senders)
        written = once_written(controls, wanted_controls(audited))
        once = _Ways(fabric, written, lambda peer: by_profile(peer.function, peer.kind), look.users)
    duties = {} if audited is None else _duties(audited)
    cures = Cures(host, fabric, controls, senders, guests, duty, duties)
    notes = Notes(fabric, controls, in_a_vm=why_a_vm(host) is not None)
    pairs = {}
    for one, other in _pairs(peers):
        ways = now(one, other)
        apart = now.apart(one, other)
        pair = Pair(
            one,
            other,
            place(fabric, one.function, other.function, (one.numa_node, other.numa_node)),
            ways,
            None if once is None else once(one, other),
            (
                _unless_apart(cures(one, ways.forth), apart),
                _unless_apart(cures(other, ways.back), apart),
            ),
            apart,
        )
        pair = replace(pair, notes=notes.of_pair(pair))
        pairs[one.function.address, other.function.address] = pair
    of_host = notes.of_host(
        list(pairs.values()), [senders(peer.function) for peer in peers], host.platform()
    )
    problems = dict.fromkeys((*senders.problems, *controls.problems))
    return PathsView(peers, pairs, duty, tuple(problems), of_host)


def _duties(audited: Audit) -> Mapping[PciAddress, ModeName]:
    return modes_of(audited.yardstick, audited.roles, audited.groups)


class _Ways:
    """Follows the ways between two peers, by what they send and what ports do."""

    def __init__(
        self,
        fabric: Fabric,
        controls_of: ControlsOf,
        sender: Callable[[Peer], Sender],
        users: Mapping[PciAddress, str],
    ) -> None:
        self._fabric = fabric
        self._controls_of = controls_of
        self._sender = sender
        self._users = users
        self._known: dict[PciAddress, Sender] = {}

    def __call__(self, one: Peer, other: Peer) -> Ways:
        first, second = self._of(one), self._of(other)
        if self.apart(one, other) is not None:
            first, second = _unmapped(first), _unmapped(second)
        forth = flow(self._fabric, first, other.function, self._controls_of)
        back = flow(self._fabric, second, one.function, self._controls_of)
        return Ways(forth, back)

    def apart(self, one: Peer, other: Peer) -> str | None:
        """Return whose two peers are if they belong to different owners."""
        return different_owners(self._of(one), self._of(other), self._users)

    def _of(self, peer: Peer) -> Sender:
        known = self._known.get(peer.function.address)
        if known is None:
            known = self._known[peer.function.address] = self._sender(peer)
        return known


def _unless_apart(found: Cure, apart: str | None) -> Cure:
    """Return a cure that names no change between different owners' functions."""
    return found if apart is None or found.obstacle is not None else Cure(obstacle=apart)


def _unmapped(sender: Sender) -> Sender:
    """Return what a function sends to another owner's: VFIO maps BARs of one VM alone for it."""
    return replace(sender, mapped=False) if sender.address is AddressSpace.GUEST else sender


def _pairs(peers: Iterable[Peer]) -> Iterator[tuple[Peer, Peer]]:
    peers = list(peers)
    gpus = [peer for peer in peers if peer.kind is PeerKind.GPU]
    yield from product((peer for peer in peers if peer.kind is PeerKind.NIC), gpus)
    yield from combinations(gpus, 2)
    yield from product((peer for peer in peers if peer.kind is PeerKind.NVME), gpus)
