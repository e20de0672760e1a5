"""IOMMU groups as they concern whoever gives functions to VMs: what ``groups`` shows."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations

from pcietune.address import PciAddress
from pcietune.errors import ConfigSpaceError, PcietuneError
from pcietune.model.access import HostAccess
from pcietune.model.fabric import Fabric
from pcietune.model.function import PciFunction
from pcietune.model.not_known import NOT_KNOWN, NotKnown
from pcietune.model.platform import IommuGroup
from pcietune.model.role_name import RoleName
from pcietune.tune.audit.isolation import Opening, companions, reach_each_other, read_openings
from pcietune.tune.audit.judge_isolation import apart_by_groups

_GIVES_WAY = (None, "pcieport", "pci-stub", "vfio-pci")
"""Drivers beside which VFIO takes a group: those with driver_managed_dma, and none (vfio.rst)."""
_OF_INTEREST = (RoleName.GPU, RoleName.NIC, RoleName.NVSWITCH)


class Viability(StrEnum):
    """Whether VFIO would take a group as it is."""

    VIABLE = "viable"
    BLOCKED = "not viable"  # VFIO has some of it, and other drivers have the rest
    HELD = "the host's"  # the host's drivers have it, and VFIO nothing of it
    NOT_KNOWN = "not known"


@dataclass(frozen=True, slots=True)
class Member:
    """One member of a group.

    Attributes:
        address: Its address.
        function: None if it vanished, or a dump does not have it.
        role: None if it has none.
        driver: None if it has none, or vanished.
        vfio: Whether a VFIO driver is bound to it; None if not known.
    """

    address: PciAddress
    function: PciFunction | None
    role: RoleName | None
    driver: str | NotKnown | None
    vfio: bool | None

    @property
    def blocks(self) -> bool:
        """Whether its driver keeps VFIO from the group; what is not known is not said to."""
        return not self.vfio and self.driver is not NOT_KNOWN and self.driver not in _GIVES_WAY


@dataclass(frozen=True, slots=True)
class Reach:
    """Where a group's members and functions of other groups reach each other all the same.

    Attributes:
        opening: Where, and what is off there.
        others: The functions of other groups.
    """

    opening: Opening
    others: tuple[PciFunction, ...]


@dataclass(frozen=True, slots=True)
class GroupView:
    """One IOMMU group.

    Attributes:
        group: As the kernel has it.
        members: In the order of addresses.
        viability: Whether VFIO would take it.
        companions: Functions that share a slot with a member and are not in the group.
        reaches: What contradicts its claim to be apart.
        joined_at: Members at which others of it fail the rule by which groups are formed.
        kept_together: Whether the ports keep its members apart now, so that it stems from before.
    """

    group: IommuGroup
    members: tuple[Member, ...]
    viability: Viability
    companions: tuple[PciFunction, ...]
    reaches: tuple[Reach, ...]
    joined_at: tuple[Opening, ...]
    kept_together: bool


@dataclass(frozen=True, slots=True)
class GroupsView:
    """A host's IOMMU groups.

    Attributes:
        groups: By number.
        problems: What could not be read, so that nothing more is known of isolation.
    """

    groups: tuple[GroupView, ...]
    problems: tuple[PcietuneError, ...]


def view_groups(
    host: HostAccess,
    fabric: Fabric,
    roles: Mapping[PciAddress, RoleName],
    *,
    everything: bool,
    complete: bool,
) -> GroupsView:
    """Return the groups that have a GPU, NIC or NVSwitch; all where no function has a role.

    Args:
        host: Where groups, states and registers come from.
        fabric: The functions, with port types for all bridges.
        roles: Which function has which role.
        everything: Whether to return all groups, those of ports alone included.
        complete: Whether what is absent is absent on the host; of a dump it is not known.

    Raises:
        ConfigSpaceError: The groups are not known.
    """
    groups = host.platform().groups
    if groups is None:
        raise ConfigSpaceError(
            "the IOMMU groups are not known: a dump does not tell",
            hint="add a listing of IOMMU groups: find /sys/kernel/iommu_groups -type l",
        )
    of_interest = {address for address, role in roles.items() if role in _OF_INTEREST}
    everything = everything or not roles
    shown = [g for g in groups.values() if everything or not of_interest.isdisjoint(g.members)]
    functions = [
        fabric.functions[address]
        for group in shown
        for address in group.members
        if address in fabric.functions and not fabric.functions[address].is_pci_bridge
    ]
    found = list(read_openings(host, fabric, functions))
    openings = [each for each in found if isinstance(each, Opening)]
    problems = [each for each in found if not isinstance(each, Opening)]
    absent = None if complete else NOT_KNOWN
    views = []
    for group in shown:
        members = tuple(_member(host, fabric, roles, address, absent) for address in group.members)
        views.append(_view(host, fabric, group, members, openings, all_read=not problems))
    return GroupsView(tuple(views), tuple(problems))


def _view(  # noqa: PLR0913 -- one parameter per thing looked at
    host: HostAccess,
    fabric: Fabric,
    group: IommuGroup,
    members: tuple[Member, ...],
    openings: Sequence[Opening],
    *,
    all_read: bool,
) -> GroupView:
    functions = [m.function for m in members if m.function is not None]
    reaches = []
    for opening in openings:
        pairs = apart_by_groups(host, opening, functions)
        others = {other for pair in pairs for other in pair if other not in functions}
        if others:
            reaches.append(Reach(opening, tuple(sorted(others, key=lambda f: f.address))))
    return GroupView(
        group=group,
        members=members,
        viability=_viability(members),
        companions=_companions(host, fabric, functions),
        reaches=tuple(reaches),
        joined_at=tuple(o for o in openings if o.at in functions and _joins(o, functions)),
        kept_together=all_read and _are_kept_together(functions, openings),
    )


def _member(
    host: HostAccess,
    fabric: Fabric,
    roles: Mapping[PciAddress, RoleName],
    address: PciAddress,
    absent: NotKnown | None,
) -> Member:
    """Return a member; ``absent`` is the driver of one that is not there."""
    function = fabric.functions.get(address)
    vfio: bool | None = None
    if function is not None:
        try:
            vfio = host.state(function).vfio
        except ConfigSpaceError:  # it vanished since
            function = None
    if function is None:
        return Member(address, None, None, absent, vfio=None)
    return Member(address, function, roles.get(address), function.driver, vfio)


def _viability(members: Sequence[Member]) -> Viability:
    drivers = [member.driver for member in members]
    if any(member.blocks for member in members):
        given = any(member.vfio for member in members)
        return Viability.BLOCKED if given else Viability.HELD
    return Viability.NOT_KNOWN if NOT_KNOWN in drivers else Viability.VIABLE


def _companions(
    host: HostAccess, fabric: Fabric, functions: Sequence[PciFunction]
) -> tuple[PciFunction, ...]:
    found: dict[PciAddress, PciFunction] = {}
    for function in functions:
        if not function.is_pci_bridge:
            with suppress(ConfigSpaceError):  # one vanished
                found |= {other.address: other for other in companions(host, fabric, function)}
    return tuple(other for _, other in sorted(found.items()) if other not in functions)


def _joins(opening: Opening, functions: Iterable[PciFunction]) -> bool:
    """Return whether some of these are below the opening, or in its slot and reached there."""
    at = opening.at
    return any(
        at.address in f.ports or (at.slot == f.slot and f in opening.peers) for f in functions
    )


def _are_kept_together(functions: Iterable[PciFunction], openings: Sequence[Opening]) -> bool:
    """Return whether the ports above two devices of the group keep those apart now."""
    devices = [f for f in functions if f.ports and not f.is_pci_bridge]
    return any(
        one.slot != other.slot and not reach_each_other(openings, one, other)
        for one, other in combinations(devices, 2)
    )
