"""The route of a packet through the fabric: which ports it meets, and which of them decides.

Three things are not modelled. Source Validation: what sends by another's ID is nothing that
pcietune explains. A guest's address inside of a switch's window that no port below claims: without
Unclaimed Request Redirect the switch drops it. And P2P Egress Control between root ports, of which
the specification leaves what passes at all to the root complex.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from pcietune.model.fabric import Fabric
from pcietune.model.function import PciFunction
from pcietune.model.packet import AddressSpace, Packet, PacketKind
from pcietune.model.port_controls import PortControls
from pcietune.model.port_decision import (
    across_a_bus,
    between_peers,
    coming_back,
    pass_translation_request,
    past_all_windows,
)
from pcietune.model.route_reason import reason, redirecting
from pcietune.model.trace import Decision, Outcome, Step, Trace
from pcietune.registers.express import PortType

ControlsOf = Callable[[PciFunction], PortControls]
"""Tells the ACS of a root port, downstream port, or function of a device with several."""

_GOES_ON = (Decision.UP, Decision.REDIRECTED, Decision.FORWARDED)
_OUTCOMES = {
    Decision.ACROSS: Outcome.DIRECT,
    Decision.TURNED: Outcome.TURNED_ABOVE,
    Decision.VIOLATION: Outcome.BLOCKED,
    Decision.MISROUTED: Outcome.MISROUTED,
    Decision.NOT_KNOWN: Outcome.UNKNOWN,
    Decision.ROOT_COMPLEX: Outcome.VIA_ROOT_COMPLEX,
}
_ANY_WINDOW = (AddressSpace.GUEST, AddressSpace.UNKNOWN)


def trace(
    fabric: Fabric,
    source: PciFunction,
    target: PciFunction,
    packet: Packet,
    controls_of: ControlsOf,
) -> Trace:
    """Return the way of a packet.

    Args:
        fabric: The functions, with port types for all bridges above the two.
        source: Who sends it: of a completion, the completer. No bridge.
        target: Whom it is for. No bridge, and not ``source``.
        packet: What is sent.
        controls_of: Asked for those ports alone on which the way depends.
    """
    ways = _Ways(fabric, source, target)
    steps = [_with_setting(step, controls_of) for step in _up(ways, packet, controls_of)]
    last = steps[-1]
    outcome = _OUTCOMES[last.decision]
    if last.decision is Decision.ACROSS and ways.part_between_root_ports:
        outcome = Outcome.TURNED_ABOVE
    iommu = _translates(packet) if last.decision is Decision.ROOT_COMPLEX else False
    if last.decision is Decision.ROOT_COMPLEX and packet.mapped is False:
        outcome = _without_mapping(packet, iommu=iommu)
    decider = redirecting(steps) if outcome is Outcome.VIA_ROOT_COMPLEX else last
    down = ways.down_from(last) if outcome.arrives else []
    return Trace(
        packet=packet,
        source=source,
        target=target,
        steps=(*steps, *(Step(port, Decision.DOWN) for port in down)),
        outcome=outcome,
        reason=reason(outcome, last, steps, controls_of),
        at=None if decider is None else decider.port,
        control=None if decider is None else decider.control,
        iommu=iommu,
    )


class _Ways:
    """The ports above two functions, and where the ways from the root to them part.

    Attributes:
        ours: Above the source, root port first, and itself.
        theirs: Above the target, alike.
        depth: Index in both of the first that differ.
    """

    def __init__(self, fabric: Fabric, source: PciFunction, target: PciFunction) -> None:
        self._fabric = fabric
        self.ours = [*fabric.ports_above(source), source]
        self.theirs = [*fabric.ports_above(target), target]
        alike = zip(self.ours, self.theirs, strict=False)
        self.depth = sum(ours == theirs for ours, theirs in alike)

    @property
    def peers(self) -> tuple[PciFunction, PciFunction]:
        """The two where the ways part: ports of one switch, functions of one device, or neither."""
        return self.ours[self.depth], self.theirs[self.depth]

    @property
    def part_in_a_switch(self) -> bool:
        """Whether they part between two ports of a switch."""
        return self._above_parting is PortType.UPSTREAM_PORT

    @property
    def part_in_a_device(self) -> bool:
        """Whether they part between functions on one link, or of one integrated device.

        Root ports of one slot are taken for such, as the kernel does that groups them.
        """
        one, other = self.peers
        if not self.depth:
            return (one.ports, one.slot) == (other.ports, other.slot)
        return self._fabric.receives(self.ours[self.depth - 1])

    @property
    def part_between_root_ports(self) -> bool:
        """Whether they part between root ports of one slot: the root complex is their switch.

        What passes there is not redirected to the IOMMU, and goes through the root complex.
        """
        return not self.depth and all(map(self.receives, self.peers)) and self.part_in_a_device

    @property
    def part_on_a_bus(self) -> bool:
        """Whether they part on a conventional bus, where all hear all."""
        return bool(self.depth) and not self.part_in_a_switch and not self.part_in_a_device

    @property
    def _above_parting(self) -> PortType | None:
        return self._fabric.port_type(self.ours[self.depth - 1]) if self.depth else None

    def receives(self, port: PciFunction) -> bool:
        """Return whether a port receives from below what ACS decides about."""
        return self._fabric.receives(port)

    def in_a_switch(self, port: PciFunction) -> bool:
        """Return whether a port is a switch's.

        A root complex translates first, and looks up the peer by what comes out of that (Intel VT-d
        r3.1, 3.16; other IOMMUs are taken to do so, too): so no control of a root port matters to a
        request that it translates. Of what it does not translate, ReqRedir of a root port changes
        no outcome: it goes through the root complex either way.
        """
        return self._fabric.port_type(port) is PortType.DOWNSTREAM_PORT

    def beside(self, port: PciFunction) -> Sequence[PciFunction]:
        """Return the other ports of a downstream port's switch."""
        above = self._fabric.ports_above(port)
        beside = self._fabric.children(above[-1]) if above else ()
        return [other for other in beside if other.is_pci_bridge and other != port]

    def down_from(self, last: Step) -> list[PciFunction]:
        """Return the ports that a packet leaves through after its last step up."""
        start = 0 if last.port is None else self.depth
        if last.decision is Decision.TURNED and last.port is not None:
            start = self.ours.index(last.port)
        return [port for port in self.theirs[start:] if self.receives(port)]


def _up(ways: _Ways, packet: Packet, controls_of: ControlsOf) -> list[Step]:
    """Return the steps up to the one that ends the way up.

    A translated request is preceded by one for a translation, which goes all the way up: TransBlk
    of any port there is an end before all others. One that is forged is not: only a port that it
    comes to itself can block it.
    """
    steps: list[Step] = []
    ports = list(reversed(ways.ours))
    if packet.asks_before:
        met = [pass_translation_request(p, controls_of(p)) for p in ports if ways.receives(p)]
        for end in (Decision.VIOLATION, Decision.NOT_KNOWN):
            stopped = [step for step in met if step.decision is end]
            if stopped:
                return stopped[:1]
        if packet.mapped is False:
            return [Step(None, Decision.ROOT_COMPLEX)]
    for index in range(len(ports) - 1, -1, -1):
        port = ways.ours[index]
        if packet.forged and ways.receives(port):
            passed = pass_translation_request(port, controls_of(port))
            if passed.decision is not Decision.UP:
                return [*steps, passed]
        found = _at(ways, index, packet, controls_of, redirected=redirecting(steps) is not None)
        if found is None:
            continue
        steps.append(found)
        if found.decision not in _GOES_ON:
            return steps
    return [*steps, Step(None, Decision.ROOT_COMPLEX)]


def _with_setting(step: Step, controls_of: ControlsOf) -> Step:
    if step.port is None or step.control is None:
        return step
    return replace(step, setting=controls_of(step.port).setting(step.control))


def _at(
    ways: _Ways, index: int, packet: Packet, controls_of: ControlsOf, *, redirected: bool
) -> Step | None:
    """Return what happens at one element of the way up; None if it decides nothing."""
    port = ways.ours[index]
    anywhere = packet.kind is not PacketKind.COMPLETION and packet.address in _ANY_WINDOW
    if index == ways.depth:
        _, peer = ways.peers
        if ways.part_on_a_bus or (ways.part_in_a_switch and not ways.receives(port)):
            return across_a_bus(port, packet)
        if ways.part_in_a_device:
            return between_peers(port, controls_of(port), packet, peer)
    if not ways.receives(port):
        return None
    step = Step(port, Decision.UP)
    if anywhere and ways.in_a_switch(port):
        step = past_all_windows(port, controls_of(port), packet, ways.beside(port))
    if step.decision is Decision.UP and index == ways.depth and ways.part_in_a_switch:
        return between_peers(port, controls_of(port), packet, ways.peers[1])
    decodes = ways.in_a_switch(port) or not _translates(packet)
    if step.decision is Decision.UP and redirected and decodes:
        return coming_back(port, controls_of(port), packet)
    return step


def _without_mapping(packet: Packet, *, iommu: bool | None) -> Outcome:
    """Return what becomes of a packet at a root complex whose IOMMU does not map the target."""
    if iommu is None:
        return Outcome.UNKNOWN
    return Outcome.BLOCKED if iommu or packet.asks_before else Outcome.VIA_ROOT_COMPLEX


def _translates(packet: Packet) -> bool | None:
    """Return whether the root complex translates a packet's address; None if not known."""
    if packet.kind is PacketKind.COMPLETION:
        return False
    unknown = packet.address is AddressSpace.UNKNOWN
    return None if unknown else packet.address is not AddressSpace.PHYSICAL
