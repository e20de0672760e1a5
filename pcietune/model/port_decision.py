"""What one port does with a packet that it receives from below.

The order of the controls, and what each acts on, is that of PCIe r7.0, 6.12.1.1 and 6.12.3, as the
KUnit tables of Linux's p2pdma series on TLP classes have it: Translation Blocking, Direct
Translated P2P, P2P Egress Control, P2P Request Redirect for requests; P2P Completion Redirect for
completions; Upstream Forwarding for what comes back to the port that it went up through.
"""

from collections.abc import Iterable

from pcietune.model.function import PciFunction
from pcietune.model.packet import AddressSpace, Packet, PacketKind
from pcietune.model.port_controls import PortControls
from pcietune.model.trace import Decision, Step
from pcietune.registers.acs import AcsControl

_BLOCKING = AcsControl.TRANSLATION_BLOCKING
_REQUEST = AcsControl.P2P_REQUEST_REDIRECT
_COMPLETION = AcsControl.P2P_COMPLETION_REDIRECT
_FORWARDING = AcsControl.UPSTREAM_FORWARDING
_EGRESS = AcsControl.P2P_EGRESS_CONTROL
_DIRECT = AcsControl.DIRECT_TRANSLATED_P2P

_BY_ADDRESS = {
    AddressSpace.PHYSICAL: Decision.ACROSS,
    AddressSpace.KERNEL: Decision.UP,  # in no window below
    AddressSpace.GUEST: Decision.MISROUTED,
    AddressSpace.UNKNOWN: Decision.NOT_KNOWN,
}
"""Where a request goes that nothing keeps from the port's peers."""


def pass_translation_request(port: PciFunction, controls: PortControls) -> Step:
    """Return what a port does with a request for a translation, or with a translated one."""
    blocks = controls.has(_BLOCKING)
    if blocks is None:
        return Step(port, Decision.NOT_KNOWN, _BLOCKING)
    return Step(port, Decision.VIOLATION if blocks else Decision.UP, _BLOCKING, on=blocks)


def between_peers(
    port: PciFunction, controls: PortControls, packet: Packet, peer: PciFunction
) -> Step:
    """Return what the port does where the ways to the two part.

    Args:
        port: The port, or function of a device with several.
        controls: Its ACS.
        packet: What it receives, or sends.
        peer: The other port of its switch, or function of its device, that the packet is for.
    """
    if packet.kind is PacketKind.COMPLETION:
        return _complete(port, controls, packet)
    if packet.address is AddressSpace.KERNEL:
        return Step(port, Decision.UP, _REQUEST, on=controls.has(_REQUEST))
    if packet.translated:
        direct = controls.has(_DIRECT)
        if direct is None:
            return Step(port, Decision.NOT_KNOWN, _DIRECT)
        if direct:
            return Step(port, _BY_ADDRESS[packet.address], _DIRECT, on=True)
    return _request(port, controls, packet, (peer,))


def past_all_windows(
    port: PciFunction, controls: PortControls, packet: Packet, peers: Iterable[PciFunction]
) -> Step:
    """Return what a switch's port does with a request whose address may fall into any window.

    That is a peer's, or the port's own, which holds all that is below it. What is sent up from
    all of them is as good as for none.

    Args:
        port: The port.
        controls: Its ACS.
        packet: What it receives.
        peers: The other ports of its switch.
    """
    for peer in peers:
        step = between_peers(port, controls, packet, peer)
        if step.decision is not Decision.REDIRECTED:
            return step
    step = coming_back(port, controls, packet)
    return Step(port, Decision.UP) if step.decision is Decision.FORWARDED else step


def coming_back(port: PciFunction, controls: PortControls, packet: Packet) -> Step:
    """Return what the port does with a packet that was redirected below it, to what is below it.

    One that has ACS and does not implement Upstream Forwarding is taken to need none.
    """
    forwards = controls.on_or_hard_wired(_FORWARDING)
    if forwards is None:
        return Step(port, Decision.NOT_KNOWN, _FORWARDING)
    if forwards:
        return Step(port, Decision.FORWARDED, _FORWARDING, on=controls.has(_FORWARDING))
    if packet.kind is PacketKind.COMPLETION:
        return Step(port, Decision.TURNED, _FORWARDING, on=False)
    led = _BY_ADDRESS[packet.address]
    turned = Decision.TURNED if led is Decision.ACROSS else led
    return Step(port, turned, _FORWARDING, on=False)


def across_a_bus(port: PciFunction, packet: Packet) -> Step:
    """Return what becomes of a packet on a bus without ACS: whose address it is takes it."""
    if packet.kind is PacketKind.COMPLETION:
        return Step(port, Decision.ACROSS)
    return Step(port, _BY_ADDRESS[packet.address])


def _complete(port: PciFunction, controls: PortControls, packet: Packet) -> Step:
    on = controls.has(_COMPLETION)
    redirects = controls.on_or_hard_wired(_COMPLETION)
    if packet.relaxed_ordering or redirects is False:
        return Step(port, Decision.ACROSS, _COMPLETION, on=on)
    decision = Decision.NOT_KNOWN if redirects is None else Decision.REDIRECTED
    return Step(port, decision, _COMPLETION, on=on)


def _request(
    port: PciFunction, controls: PortControls, packet: Packet, peers: Iterable[PciFunction]
) -> Step:
    """Return what EgressCtrl and ReqRedir make of a request that may be for any of the peers.

    A vector bit of 1 forbids the peer, or redirects where ReqRedir is on, too; 0 lets through.
    A guest's address that a vector forbids is as wrong there as one that it lets through.
    """
    egress, redirects = controls.has(_EGRESS), controls.redirects_requests
    if egress is None or redirects is None:
        return Step(port, Decision.NOT_KNOWN, _REQUEST)
    if egress:
        if controls.blocked is None:
            return Step(port, Decision.NOT_KNOWN, _EGRESS, on=True)
        if any(peer.address not in controls.blocked for peer in peers):
            return Step(port, _BY_ADDRESS[packet.address], _EGRESS, on=True)
        if not redirects:
            led = _BY_ADDRESS[packet.address]
            blocked = Decision.VIOLATION if led is Decision.ACROSS else led
            return Step(port, blocked, _EGRESS, on=True)
    if redirects:
        return Step(port, Decision.REDIRECTED, _REQUEST, on=controls.has(_REQUEST))
    return Step(port, _BY_ADDRESS[packet.address], _REQUEST, on=False)
