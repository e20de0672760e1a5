"""Who reaches whom without the IOMMU: outright, or only by a lie about translated addresses.

A function that is not to be trusted picks its addresses so that the ports take them for another
function's. Whether its requests then arrive without going through the root complex is followed
port by port, for functions that must be apart; where VMs are not known, IOMMU groups say which.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import permutations

from pcietune.address import PciAddress
from pcietune.errors import PcietuneError
from pcietune.model.access import HostAccess
from pcietune.model.fabric import Fabric
from pcietune.model.function import PciFunction
from pcietune.model.packet import AddressSpace, Packet, PacketKind
from pcietune.model.platform import IommuGroup
from pcietune.model.port_controls import PortControls
from pcietune.model.route import ControlsOf, trace
from pcietune.model.settings import Tenancy
from pcietune.model.trace import Outcome
from pcietune.tune.audit.isolation import Opening, read_openings
from pcietune.tune.paths.controls import ControlsReader
from pcietune.tune.paths.ownership import Owner
from pcietune.tune.paths.peers import physical_peers
from pcietune.tune.paths.reach import PAST_THE_IOMMU, Reach, joined, reach
from pcietune.tune.paths.untranslated import Keeping, keeping
from pcietune.tune.paths.view import PeerKind
from pcietune.tune.vfio_use import ISOLATION, given_to_vfio

_HONEST = Packet(PacketKind.WRITE, AddressSpace.PHYSICAL)
_LIE = Packet(PacketKind.WRITE, AddressSpace.PHYSICAL, translated=True, forged=True)
_KNOWN_TO_ISOLATE = PortControls(ISOLATION, ISOLATION, present=False)


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of functions beside what registers and sysfs say.

    Attributes:
        trusted: Those that the profile trusts not to lie; their VFs are as they are.
        users: The VM, or other user of VFIO, that has one open; without those that nobody has, or
            of which it is not known.
        tenancy: Whether functions below one switch may serve several tenants.
    """

    trusted: AbstractSet[PciAddress] = frozenset()
    users: Mapping[PciAddress, str] = field(default_factory=dict)
    tenancy: Tenancy = Tenancy.SINGLE


NOTHING_KNOWN = Known()


@dataclass(frozen=True, slots=True)
class Isolation:
    """How far a host's functions are apart.

    Attributes:
        owners: By endpoint that was looked at, VFs among them, whom it belongs to.
        parents: By VF its PF.
        reaches: Who reaches others outright.
        lies: Who does so only if it lies.
        not_known: Who may, since a register could not be read; never taken for apart.
        trusted: Functions that the profile trusts not to lie.
        keeping: What an IOMMU does about the requests of each of ``owners``.
        iommu: Whether an IOMMU is on at all; None if not known.
        tenancy: Whether functions below one switch may serve several tenants.
        problems: What kept registers from being read.
    """

    owners: Mapping[PciAddress, Owner]
    parents: Mapping[PciAddress, PciAddress]
    reaches: tuple[Reach, ...]
    lies: tuple[Reach, ...]
    not_known: tuple[Reach, ...]
    trusted: AbstractSet[PciAddress]
    keeping: Mapping[PciAddress, Keeping]
    iommu: bool | None
    tenancy: Tenancy
    problems: tuple[PcietuneError, ...]


def view_isolation(
    host: HostAccess,
    fabric: Fabric,
    about: Iterable[PciAddress],
    known: Known = NOTHING_KNOWN,
) -> Isolation:
    """Return how far functions are apart that could reach each other without the IOMMU.

    Args:
        host: Where states and registers come from.
        fabric: Its functions, with port types for all bridges.
        about: Functions beside GPUs, NICs and what a VFIO driver is bound to: all endpoints are
            looked at that share a root port, or a slot of a root bus, with one of these; all below
            bridges if there are none.
        known: What is known beside.
    """
    problems: list[PcietuneError] = []
    owners: dict[PciAddress, Owner] = {}
    parents: dict[PciAddress, PciAddress] = {}
    keeps: dict[PciAddress, Keeping] = {}
    present = []
    for function in _neighbours(fabric, (*about, *_at_stake(host, fabric))):
        try:
            state = host.state(function)
        except PcietuneError as vanished:
            problems.append(vanished)
            continue
        present.append(function)
        keeps[function.address] = keeping(host.platform(), fabric, function, state)
        owners[function.address] = Owner(known.users.get(function.address), state.group)
        if state.physical_function is not None:
            parents[function.address] = state.physical_function
    found = list(read_openings(host, fabric, present))
    reader = ControlsReader(host, fabric)
    groups = host.platform().groups
    controls_of = _as_the_kernel_knows(reader, found, groups_known=groups is not None)
    outright, by_lie, unread = _ways(fabric, _units(present, parents), owners, controls_of)
    problems += [each for each in found if not isinstance(each, Opening)]
    return Isolation(
        owners=owners,
        parents=parents,
        reaches=joined(outright),
        lies=joined(by_lie),
        not_known=joined(unread),
        trusted={a for a in owners if a in known.trusted or parents.get(a) in known.trusted},
        keeping=keeps,
        iommu=_is_on(keeps.values(), groups),
        tenancy=known.tenancy,
        problems=tuple(dict.fromkeys((*problems, *reader.problems))),
    )


def _at_stake(host: HostAccess, fabric: Fabric) -> Iterator[PciAddress]:
    for function, kind, _ in physical_peers(host, fabric, {}):
        if kind is not PeerKind.NVME:
            yield function.address
    for function in given_to_vfio(host, fabric.functions.values()):
        yield function.address


def _is_on(keeps: Collection[Keeping], groups: Mapping[int, IommuGroup] | None) -> bool | None:
    if groups is not None and not groups:
        return False
    if keeps and all(each is Keeping.NOTHING for each in keeps):
        return False
    return None if groups is None else True


def _neighbours(fabric: Fabric, about: Iterable[PciAddress]) -> Iterator[PciFunction]:
    tops = {_top(fabric.functions[address]) for address in about if address in fabric.functions}
    for function in fabric.functions.values():
        if function.is_pci_bridge or function.is_host_bridge:
            continue
        if _top(function) in tops if tops else function.ports:
            yield function


def _top(function: PciFunction) -> tuple[int, int, int]:
    """Return the slot of a root bus that a function is in, or below."""
    top = function.ports[0] if function.ports else function.address
    return (top.domain, top.bus, top.device)


def _units(
    functions: Iterable[PciFunction], parents: Mapping[PciAddress, PciAddress]
) -> Iterator[list[list[PciFunction]]]:
    """Yield what is below each slot of a root bus: functions, each with its VFs behind it.

    Those take the same ways to all others; to each other they go inside of their device, where
    Linux takes VFs to be apart, as SR-IOV has it.
    """
    below: dict[tuple[int, int, int], dict[PciAddress, list[PciFunction]]] = {}
    for function in functions:
        own = parents.get(function.address, function.address)
        below.setdefault(_top(function), {}).setdefault(own, []).append(function)
    for units in below.values():
        yield list(units.values())


def _as_the_kernel_knows(
    controls_of: ControlsOf, found: Iterable[Opening | PcietuneError], *, groups_known: bool
) -> ControlsOf:
    """Return controls that isolate where there is no ACS and the kernel knows of no way through.

    That is what ``read_openings`` believes about some root ports and devices.
    """
    openings = {each.at.address for each in found if isinstance(each, Opening)}

    def known(port: PciFunction) -> PortControls:
        own = controls_of(port)
        if own.present or own.why_unread is not None or port.address in openings:
            return own
        return _KNOWN_TO_ISOLATE if groups_known else own

    return known


def _ways(
    fabric: Fabric,
    neighbours: Iterable[list[list[PciFunction]]],
    owners: Mapping[PciAddress, Owner],
    controls_of: ControlsOf,
) -> tuple[list[Reach], list[Reach], list[Reach]]:
    """Return who reaches whom outright, by a lie, and perhaps."""
    outright: list[Reach] = []
    by_lie: list[Reach] = []
    unread: list[Reach] = []
    for units in neighbours:
        for ones, others in permutations(units, 2):
            for packet, found in ((_HONEST, outright), (_LIE, by_lie)):
                way = trace(fabric, ones[0], others[0], packet, controls_of)
                if way.outcome not in (*PAST_THE_IOMMU, Outcome.UNKNOWN):
                    continue
                controls = controls_of(way.source if way.at is None else way.at)
                reached = reach(way, controls, ones, others, owners)
                if reached is not None:
                    (unread if way.outcome is Outcome.UNKNOWN else found).append(reached)
                break
    return outright, by_lie, unread
