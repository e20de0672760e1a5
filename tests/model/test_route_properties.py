"""What holds of routes in every host, whatever its ports' ACS."""

from dataclasses import replace

from hypothesis import assume, given
from hypothesis import strategies as st
from model.random_fabrics import HOSTS, Host

from pcietune.address import PciAddress
from pcietune.model.function import PciFunction
from pcietune.model.packet import AddressSpace, Packet, PacketKind
from pcietune.model.port_controls import PortControls
from pcietune.model.route import trace
from pcietune.model.trace import Outcome, Trace
from pcietune.registers.acs import AcsControl

EVERY = ~AcsControl(0)
SV, TB, RR, CR, UF, EC, DT = AcsControl
UNREAD = PortControls(None, None, None)
LENGTH = {Outcome.DIRECT: 0, Outcome.TURNED_ABOVE: 1, Outcome.VIA_ROOT_COMPLEX: 2}
TWO_OR_MORE = HOSTS.filter(lambda host: len(host.roles) > 1)
WORDS = st.integers(0, 0x7F).map(AcsControl)
PEER_PACKETS = st.builds(
    Packet,
    st.sampled_from(PacketKind),
    st.sampled_from(AddressSpace),
    relaxed_ordering=st.booleans(),
)
TRANSLATED = Packet(PacketKind.WRITE, AddressSpace.PHYSICAL, translated=True)
UNTRANSLATED = Packet(PacketKind.WRITE, AddressSpace.PHYSICAL)
ANY_PACKET = PEER_PACKETS | st.just(TRANSLATED)


class Drawn:
    """Two functions of a host, and the ACS of every port.

    Attributes:
        words: What is on, by port.
    """

    def __init__(self, host: Host, data: st.DataObject) -> None:
        self.fabric = host.fabric
        ends = [host.fabric.functions[address] for address in host.roles]
        self.source = data.draw(st.sampled_from(ends))
        self.target = data.draw(st.sampled_from([f for f in ends if f != self.source]))
        self.ports = [f.address for f in host.fabric.functions.values() if f.is_pci_bridge]
        self.words = {port: data.draw(WORDS) for port in self.ports}

    def follow(self, packet: Packet, words: dict[PciAddress, AcsControl] | None = None) -> Trace:
        """Return the packet's way; ``words`` stand in for those of the ports."""
        chosen = self.words if words is None else words
        return self.controlled(packet, {p: PortControls(word, EVERY) for p, word in chosen.items()})

    def controlled(self, packet: Packet, controls: dict[PciAddress, PortControls]) -> Trace:
        """Return the packet's way where ports have the controls."""
        return trace(
            self.fabric, self.source, self.target, packet, lambda port: controls[port.address]
        )

    def above(self, function: PciFunction) -> list[PciAddress]:
        """Return the ports above a function."""
        return [port.address for port in self.fabric.ports_above(function)]

    def receiving(self) -> list[PciAddress]:
        """Return the ports above the source that receive from below: each second one."""
        return self.above(self.source)[::2]


@given(TWO_OR_MORE, st.data())
def test_setting_direct_translated_never_makes_a_translated_way_longer(
    host: Host, data: st.DataObject
) -> None:
    drawn = Drawn(host, data)
    port = data.draw(st.sampled_from(drawn.ports))
    before = drawn.follow(TRANSLATED).outcome

    after = drawn.follow(TRANSLATED, words={**drawn.words, port: drawn.words[port] | DT}).outcome

    # a violation by EgressCtrl may become a way, and no way becomes a violation
    assert after is before or LENGTH.get(after, 9) < LENGTH.get(before, 9)


@given(TWO_OR_MORE, PEER_PACKETS, st.data())
def test_with_the_four_redirecting_controls_no_untranslated_packet_is_short_of_the_root(
    host: Host, packet: Packet, data: st.DataObject
) -> None:
    drawn = Drawn(host, data)
    isolating = {port: word & ~EC | SV | RR | CR | UF for port, word in drawn.words.items()}
    assume(packet.kind is not PacketKind.COMPLETION or not packet.relaxed_ordering)

    assert drawn.follow(packet, words=isolating).outcome is Outcome.VIA_ROOT_COMPLEX


@given(TWO_OR_MORE, st.data())
def test_translation_blocking_anywhere_above_blocks_what_is_translated(
    host: Host, data: st.DataObject
) -> None:
    drawn = Drawn(host, data)
    port = data.draw(st.sampled_from(drawn.receiving()))

    way = drawn.follow(TRANSLATED, words={**drawn.words, port: drawn.words[port] | TB})

    assert (way.outcome, way.control) == (Outcome.BLOCKED, TB)


@given(TWO_OR_MORE, ANY_PACKET, st.data())
def test_direct_translated_changes_nothing_without_request_redirect(
    host: Host, packet: Packet, data: st.DataObject
) -> None:
    drawn = Drawn(host, data)
    without = {port: word & ~(RR | EC | DT) for port, word in drawn.words.items()}
    opened = {port: word | DT for port, word in without.items()}

    assert drawn.follow(packet, words=opened).outcome is drawn.follow(packet, words=without).outcome


@given(TWO_OR_MORE, st.sampled_from((TRANSLATED, UNTRANSLATED)), st.data())
def test_redirects_below_the_parting_do_not_matter_to_addresses_that_ports_decode(
    host: Host, packet: Packet, data: st.DataObject
) -> None:
    drawn = Drawn(host, data)
    ours, theirs = drawn.above(drawn.source), drawn.above(drawn.target)
    apart = [port for port in ours if port not in theirs]
    below = set(apart[1:]) | {port for port in theirs if port not in ours}
    other = {
        port: word ^ data.draw(st.sampled_from((RR, CR, RR | CR))) if port in below else word
        for port, word in drawn.words.items()
    }

    assert drawn.follow(packet, words=other).outcome is drawn.follow(packet).outcome


@given(TWO_OR_MORE, ANY_PACKET, st.data())
def test_completion_redirect_acts_on_completions_without_relaxed_ordering_alone(
    host: Host, packet: Packet, data: st.DataObject
) -> None:
    drawn = Drawn(host, data)
    assume(packet.kind is not PacketKind.COMPLETION or packet.relaxed_ordering)
    other = {port: word ^ CR for port, word in drawn.words.items()}

    assert drawn.follow(packet, words=other).outcome is drawn.follow(packet).outcome


@given(TWO_OR_MORE, ANY_PACKET, st.data())
def test_no_definite_outcome_hangs_on_what_could_not_be_read(
    host: Host, packet: Packet, data: st.DataObject
) -> None:
    drawn = Drawn(host, data)
    unread = data.draw(st.sets(st.sampled_from(drawn.ports), min_size=1))
    controls = {port: PortControls(word, EVERY) for port, word in drawn.words.items()}
    told = drawn.controlled(packet, {**controls, **dict.fromkeys(unread, UNREAD)}).outcome

    assert told in (Outcome.UNKNOWN, drawn.controlled(packet, controls).outcome)


@given(TWO_OR_MORE, ANY_PACKET, st.data())
def test_no_outcome_hangs_on_an_egress_vector_that_could_not_be_read(
    host: Host, packet: Packet, data: st.DataObject
) -> None:
    drawn = Drawn(host, data)
    blocked = frozenset(data.draw(st.sets(st.sampled_from(drawn.ports))))
    known = {port: PortControls(word, EVERY, blocked) for port, word in drawn.words.items()}
    hidden = {port: replace(controls, blocked=None) for port, controls in known.items()}

    told = drawn.controlled(packet, hidden).outcome

    assert told in (Outcome.UNKNOWN, drawn.controlled(packet, known).outcome)


@given(TWO_OR_MORE, ANY_PACKET, st.data())
def test_ports_on_neither_way_are_not_asked(
    host: Host, packet: Packet, data: st.DataObject
) -> None:
    drawn = Drawn(host, data)
    asked: set[PciAddress] = set()

    def controls_of(port: PciFunction) -> PortControls:
        asked.add(port.address)
        return PortControls(drawn.words[port.address], EVERY)

    trace(drawn.fabric, drawn.source, drawn.target, packet, controls_of)

    assert asked <= {*drawn.above(drawn.source), *drawn.above(drawn.target)}
