"""The route model against a simulator that hands tokens from port to port by address windows."""

from collections.abc import Iterator
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from model.random_fabrics import HOSTS, Host
from model.route_simulator import End, SimulatedAcs, Simulator
from model.small_fabrics import CASCADE, ROOTS, SWITCH

from pcietune.address import PciAddress
from pcietune.model.fabric import Fabric
from pcietune.model.function import PciFunction
from pcietune.model.packet import AddressSpace, Packet, PacketKind
from pcietune.model.port_controls import PortControls
from pcietune.model.route import trace
from pcietune.model.trace import Outcome
from pcietune.registers.acs import AcsControl

EVERY = ~AcsControl(0)
TB, RR, CR, UF, EC, DT = tuple(AcsControl)[1:]
NOTHING = SimulatedAcs()
AcsOf = dict[PciAddress, SimulatedAcs]


def packets() -> Iterator[Packet]:
    """Yield every packet; a translated address is none of the kernel's. Reads go as writes go."""
    for kind, space, mapped in product(
        (PacketKind.WRITE, PacketKind.COMPLETION), AddressSpace, (True, False, None)
    ):
        answered = space in (AddressSpace.PHYSICAL, AddressSpace.GUEST)
        for relaxed in (False, True) if kind is PacketKind.COMPLETION else (False,):
            yield Packet(kind, space, relaxed_ordering=relaxed, mapped=mapped)
        if answered and kind is not PacketKind.COMPLETION:
            yield Packet(kind, space, translated=True, mapped=mapped)
        if space is AddressSpace.PHYSICAL and kind is not PacketKind.COMPLETION:
            yield Packet(kind, space, translated=True, mapped=mapped, forged=True)


PACKETS = tuple(packets())
MAPPED = tuple(p for p in PACKETS if p.mapped)


def named(packet: Packet | str) -> str:
    """Return what tells a packet from the others."""
    if isinstance(packet, str):
        return packet
    return (
        f"{packet.kind.name} {packet.address.name}{' forged' * packet.forged}"
        f"{' translated' * bool(packet.translated)}"
        f"{' relaxed' * packet.relaxed_ordering}, mapped {packet.mapped}"
    )


def words(*controls: AcsControl) -> list[AcsControl]:
    """Return every choice of the controls."""
    chosen = [AcsControl(0)]
    for control in controls:
        chosen += [word | control for word in chosen]
    return chosen


def expected(ends: set[End]) -> set[Outcome]:
    """Return what may be said of a packet that can end at these places.

    One that can end where it is not for is misrouted, wherever else it can end.
    """
    if End.ELSEWHERE in ends:
        return {Outcome.MISROUTED}
    told = {
        End.SHORTEST: Outcome.DIRECT,
        End.TURNED: Outcome.TURNED_ABOVE,
        End.ROOT: Outcome.VIA_ROOT_COMPLEX,
        End.VIOLATION: Outcome.BLOCKED,
        End.FAULT: Outcome.BLOCKED,
    }
    return {told[end] for end in ends}


def check(
    host: Fabric, source: PciFunction, target: PciFunction, packet: Packet, acs: AcsOf
) -> None:
    """Hold the model against the simulator.

    Of what is not known the simulator tries all: only if all end alike may a definite outcome
    be told. A mapping that is not known is never a verdict, so it counts as there.
    """

    def controls_of(port: PciFunction) -> PortControls:
        found = acs.get(port.address, NOTHING)
        return PortControls(found.on, EVERY, found.closed)

    outcome = trace(host, source, target, packet, controls_of).outcome
    simulator = Simulator(host.functions.values(), acs)
    by_space: set[Outcome] = set()
    unknown = packet.address is AddressSpace.UNKNOWN and packet.kind is not PacketKind.COMPLETION
    known = (AddressSpace.PHYSICAL, AddressSpace.KERNEL, AddressSpace.GUEST)
    for space in known if unknown else (packet.address,):
        one = Packet(
            packet.kind,
            space,
            translated=packet.translated,
            relaxed_ordering=packet.relaxed_ordering,
            mapped=packet.mapped is not False,
            forged=packet.forged,
        )
        by_space |= expected(simulator.ends(source.address, target.address, one))

    told = (packet, acs, outcome, by_space)
    if len(by_space) == 1 and not unknown:
        assert {outcome} == by_space, told
    elif len(by_space) == 1:
        assert outcome in (Outcome.UNKNOWN, *by_space), told
    else:
        assert outcome is Outcome.UNKNOWN, told


def functions(host: Fabric) -> list[PciFunction]:
    return [f for f in host.functions.values() if not f.is_pci_bridge]


def at(host: Fabric, address: str) -> PciFunction:
    return host.functions[PciAddress.parse(address)]


def port(address: str) -> PciAddress:
    return PciAddress.parse(address)


@pytest.mark.parametrize("packet", PACKETS, ids=named)
def test_every_word_of_both_ports_of_a_switch_leads_where_the_windows_lead(packet: Packet) -> None:
    nic, gpu = at(SWITCH, "03:00.0"), at(SWITCH, "04:00.0")
    deciding = words(*AcsControl)[::2]  # Source Validation changes nothing here
    closed = (frozenset[PciAddress](), frozenset({port("02:01.0")}), frozenset({port("02:02.0")}))
    above = words(TB, UF)
    for word, vector, root in product(deciding, closed, above):
        if vector and EC not in word:
            continue
        acs = {port("02:00.0"): SimulatedAcs(word, vector), port("00:01.0"): SimulatedAcs(root)}
        check(SWITCH, nic, gpu, packet, acs)


@pytest.mark.parametrize("packet", MAPPED, ids=named)
@pytest.mark.parametrize("target", ["06:00.0", "07:00.0"])
def test_a_cascade_leads_where_the_windows_lead(packet: Packet, target: str) -> None:
    nic, gpu = at(CASCADE, "05:00.0"), at(CASCADE, target)
    lower, upper = words(TB, RR, CR, UF, DT), words(TB, RR, CR, UF, DT)
    above = words(TB, UF) if packet.forged else words(UF)
    for low, high, root in product(lower, upper, above):
        acs = {
            port("04:00.0"): SimulatedAcs(low),
            port("02:00.0"): SimulatedAcs(high),
            port("00:01.0"): SimulatedAcs(root),
        }
        check(CASCADE, nic, gpu, packet, acs)


@pytest.mark.parametrize("packet", PACKETS, ids=named)
def test_two_root_ports_lead_where_the_windows_lead(packet: Packet) -> None:
    nic, gpu = at(ROOTS, "01:00.0"), at(ROOTS, "02:00.0")
    for word in words(TB, RR, CR, UF, DT):
        check(ROOTS, nic, gpu, packet, {port("00:01.0"): SimulatedAcs(word)})


ACS = st.integers(0, 0x7F).map(AcsControl)


@settings(max_examples=300, deadline=None)
@given(HOSTS.filter(lambda host: len(functions(host.fabric)) > 1), st.data())
def test_any_host_leads_where_the_windows_lead(host: Host, data: st.DataObject) -> None:
    ends = functions(host.fabric)
    source = data.draw(st.sampled_from(ends))
    target = data.draw(st.sampled_from([f for f in ends if f != source]))
    packet = data.draw(st.sampled_from(PACKETS))
    bridges = [f.address for f in host.fabric.functions.values() if f.is_pci_bridge]
    acs = {
        address: SimulatedAcs(
            data.draw(ACS), frozenset(data.draw(st.sets(st.sampled_from(bridges))))
        )
        for address in bridges
    }

    check(host.fabric, source, target, packet, acs)
