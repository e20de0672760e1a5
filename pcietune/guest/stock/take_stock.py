"""Finds what a host has for VMs, and what keeps each of it from them."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from pcietune.address import PciAddress
from pcietune.guest.chosen import Chosen
from pcietune.guest.kinds import Kind
from pcietune.guest.stock.beside import Beside
from pcietune.guest.stock.group_mates import mates_of
from pcietune.guest.stock.occupied import occupied, taken_by
from pcietune.guest.stock.offer import Card, Offer, Stock
from pcietune.guest.stock.reading import only_node, read_chosen, state_of, total_vfs
from pcietune.guest.stock.refusals import (
    ALLOW_FAILING,
    MODE_VM,
    SHARE_SWITCHES,
    Judges,
    findings_against,
    refusals,
    unsure_of,
)
from pcietune.guest.wish import Wish
from pcietune.model.access import HostAccess
from pcietune.model.function import FunctionState, PciFunction
from pcietune.model.location import location_order
from pcietune.model.profile import ModeName
from pcietune.model.role_name import RoleName
from pcietune.model.settings import Tenancy
from pcietune.tune.audit.audit import Audit
from pcietune.tune.match.roles import assign_roles

_KINDS = {
    RoleName.GPU: Kind.GPU,
    RoleName.NIC: Kind.NIC,
    RoleName.DPU: Kind.NIC,
    RoleName.NVSWITCH: Kind.NVSWITCH,
}
_FIRST = (RoleName.GPU, RoleName.NIC, RoleName.DPU, RoleName.NVSWITCH)
"""Which role of a slot's functions says what the slot is."""


def take_stock(host: HostAccess, audited: Audit, beside: Beside, wish: Wish) -> Stock:
    """Return every GPU, NIC and NVSwitch of a host.

    Args:
        host: The host.
        audited: How it is judged, of a fabric with the port types of all bridges.
        beside: What is known beside.
        wish: Whether findings keep a function from the VM, and which other plans there are.

    Raises:
        BadInputError: Another plan is none of this host.
    """
    taken = taken_by(audited.fabric, wish.taken)
    others = occupied(host, audited.fabric, beside.users, taken)
    taking = _Taking(Judges(host, audited, beside, taken, wish), others)
    offers = [taking.offer(members) for members in taking.slots()]
    stock = Stock(
        gpus=_of_kind(offers, Kind.GPU),
        cards=tuple(taking.card(offer) for offer in _of_kind(offers, Kind.NIC)),
        nvswitches=_of_kind(offers, Kind.NVSWITCH),
        occupied=others,
        modules=wish.modules,
    )
    return replace(stock, untold=tuple(_untold(stock, taken.keys())))


def _untold(stock: Stock, taken: AbstractSet[PciAddress]) -> Iterator[PciAddress]:
    """Yield what VMs have open, and none of the plans that were told has."""
    for offer in stock.offers():
        if offer.chosen.state.in_use_by_vfio and taken.isdisjoint(offer.addresses):
            yield offer.address


def _of_kind(offers: Iterable[Offer], kind: Kind) -> tuple[Offer, ...]:
    found = (offer for offer in offers if offer.chosen.kind is kind)
    return tuple(sorted(found, key=lambda offer: offer.order))


@dataclass(frozen=True, slots=True)
class _Member:
    """A function that was found to be there."""

    function: PciFunction
    state: FunctionState
    role: RoleName | None


class _Taking:
    """One walk through a host's functions."""

    def __init__(self, judges: Judges, occupied_by: Mapping[str, str]) -> None:
        self._judges = judges
        self._occupied_by = occupied_by
        self._fabric = judges.audited.fabric
        self._nodes = judges.host.numa_nodes() or {}
        self._only_node = only_node(self._nodes)
        self._roles: Mapping[PciAddress, RoleName] = assign_roles(
            judges.audited.profile, self._fabric, judges.host
        )
        virtual = (address for role in self._roles for address in self._virtual_functions(role))
        self._offered: Collection[PciAddress] = {*self._roles, *virtual}

    def slots(self) -> list[list[_Member]]:
        """Return the functions of each slot that has one with a role, that one first; no VFs."""
        slots: dict[tuple[int, int, int], list[_Member]] = {}
        wanted = {self._fabric.functions[address].slot for address in self._roles}
        for function in self._fabric.functions.values():
            if function.slot not in wanted or function.is_pci_bridge:
                continue
            state = self._state(function)
            if state is not None and state.physical_function is None:
                role = self._roles.get(function.address)
                slots.setdefault(function.slot, []).append(_Member(function, state, role))
        found = [sorted(members, key=_precedence) for members in slots.values()]
        return [members for members in found if members[0].role is not None]

    def offer(self, members: list[_Member]) -> Offer:
        """Return a slot's functions as one offer."""
        first, *others = members
        kind = _KINDS[first.role] if first.role is not None else Kind.COMPANION
        chosen = self._read(first, kind)
        companions = tuple(self._read(each, _companion_kind(first, each)) for each in others)
        return self._judged(replace(chosen, companions=companions), members)

    def card(self, whole: Offer) -> Card:
        """Return a NIC and the VFs of its ports."""
        ports = [each for each in (whole.chosen, *whole.chosen.companions) if each.kind is Kind.NIC]
        virtual = tuple(tuple(self._virtual(port)) for port in ports)
        total = total_vfs(self._judges.host, whole.chosen.function)
        return Card(whole, virtual, total)

    def _state(self, function: PciFunction) -> FunctionState | None:
        """Return what sysfs says of a function, with the host's only node where it says none.

        Firmware of hosts with one node often tells none.
        """
        state = state_of(self._judges.host, function)
        if state is None or self._only_node is None or state.numa_node in self._nodes:
            return state
        return replace(state, numa_node=self._only_node)

    def _virtual(self, port: Chosen) -> Iterable[Offer]:
        for address in port.state.virtual_functions:
            function = self._fabric.functions.get(address)
            state = None if function is None else self._state(function)
            if function is None or state is None:
                continue
            role = self._roles.get(port.function.address)
            member = _Member(function, state, role)
            yield self._judged(self._read(member, Kind.NIC), [member])

    def _read(self, member: _Member, kind: Kind) -> Chosen:
        return read_chosen(self._judges.host, self._fabric, member.function, member.state, kind)

    def _judged(self, chosen: Chosen, members: list[_Member]) -> Offer:
        together = [each.function.address for each in members]
        states = [each.state for each in members]
        mates = mates_of(self._judges.host, self._fabric, states, together, self._offered)
        why_not = dict.fromkeys(mates.why_not)
        failing: dict[str, None] = {}
        unsure: dict[str, None] = {}
        for each in members:
            for phrase in refusals(self._judges, each.function, each.state, each.role):
                why_not[_about(each, chosen, phrase)] = None
            found = findings_against(self._judges, each.function)
            failing |= dict.fromkeys(_about(each, chosen, phrase) for phrase in found)
            unsure |= dict.fromkeys(unsure_of(self._judges, each.function, each.state))
        for_vms = self._judges.audited.yardstick.mode is ModeName.VM
        unless = MODE_VM if why_not and not for_vms else None
        if failing and not self._judges.wish.allow_failing:
            unless = unless if why_not else ALLOW_FAILING
            why_not |= failing
            failing = {}
        if not why_not:
            why_not |= dict.fromkeys(self._why_not_beside(chosen))
            unless = SHARE_SWITCHES if why_not else None
        return Offer(
            chosen=chosen,
            why_not=tuple(why_not),
            unless=unless,
            failing=tuple(failing),
            unsure=tuple(unsure),
            mates=mates.addresses,
            unbound=tuple(e.function.address for e in members if e.state.vfio is False),
        )

    def _why_not_beside(self, chosen: Chosen) -> Iterator[str]:
        """Yield whose neighbour it would be, unless a switch may serve several tenants."""
        tenancy = self._judges.audited.yardstick.tenancy
        if tenancy is Tenancy.SHARED or self._judges.wish.share_switches or not chosen.switches:
            return
        other = self._occupied_by.get(chosen.switches[0].location)
        if other is not None:
            yield f"its switch serves {other}, maybe another tenant"

    def _virtual_functions(self, address: PciAddress) -> Iterable[PciAddress]:
        state = state_of(self._judges.host, self._fabric.functions[address])
        return () if state is None else state.virtual_functions


def _precedence(member: _Member) -> tuple[int, tuple[int, str]]:
    rank = len(_FIRST) if member.role is None else _FIRST.index(member.role)
    return rank, location_order(member.function.location)


def _companion_kind(first: _Member, other: _Member) -> Kind:
    """Return what a function is beside the first of its slot: a port of a NIC is a NIC, too."""
    same = other.role is first.role and other.role in (RoleName.NIC, RoleName.DPU)
    return Kind.NIC if same else Kind.COMPANION


def _about(member: _Member, chosen: Chosen, phrase: str) -> str:
    """Return a phrase about an offer: of a companion it says of which."""
    if member.function == chosen.function:
        return phrase
    return f"{member.function.address} of its slot: {phrase}"
