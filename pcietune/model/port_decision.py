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
    if packet.translated:
        direct = controls.has(_DIRECT)
        if direct is None:
            return Step(port, Decision.NOT_KNOWN, _DIRECT)
        if direct:
            return Step(port, _BY_ADDRESS[packet.address], _DIRECT, on=True)
    return _request(port, controls, packet, (peer,))


def past_strangers(
    port: PciFunction, controls: PortControls, packet: Packet, peers: Iterable[PciFunction]
) -> Step:
    """Return what the port does with a request, by a guest's address, that is for no peer of it.

    Only such an address can meet a peer's window all the same.

    Args:
        port: The port.
        controls: Its ACS.
        packet: What it receives.
        peers: The other ports of its switch.
    """
    if packet.translated:
        direct = controls.has(_DIRECT)
        if direct is not False:
            lost = Decision.NOT_KNOWN if direct is None else Decision.MISROUTED
            return Step(port, lost, _DIRECT, on=direct)
    step = _request(port, controls, packet, peers)
    harmless = (Decision.REDIRECTED, Decision.VIOLATION)  # the latter is for peers
    return Step(port, Decision.UP) if step.decision in harmless else step


def coming_back(port: PciFunction, controls: PortControls, packet: Packet) -> Step:
    """Return what the port does with a packet that was redirected below it, to what is below it.

    One that has ACS and does not implement Upstream Forwarding is taken to need none.
    """
    forwards = controls.has(_FORWARDING)
    if forwards is None or controls.supported is None:
        return Step(port, Decision.NOT_KNOWN, _FORWARDING)
    if forwards or (controls.present and _FORWARDING not in controls.supported):
        return Step(port, Decision.FORWARDED, _FORWARDING, on=forwards)
    if packet.kind is PacketKind.COMPLETION:
        return Step(port, Decision.TURNED, _FORWARDING, on=False)
    led = _BY_ADDRESS[packet.address]
    turned = Decision.TURNED if led is Decision.ACROSS else led
    return Step(port, turned, _FORWARDING, on=False)


def _complete(port: PciFunction, controls: PortControls, packet: Packet) -> Step:
    redirects = controls.has(_COMPLETION)
    if packet.relaxed_ordering or redirects is False:
        return Step(port, Decision.ACROSS, _COMPLETION, on=redirects)
    decision = Decision.NOT_KNOWN if redirects is None else Decision.REDIRECTED
    return Step(port, decision, _COMPLETION, on=redirects)


def _request(
    port: PciFunction, controls: PortControls, packet: Packet, peers: Iterable[PciFunction]
) -> Step:
    """Return what EgressCtrl and ReqRedir make of a request that may be for any of the peers.

    A vector bit of 1 forbids the peer, or redirects where ReqRedir is on, too; 0 lets through.
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
            return Step(port, Decision.VIOLATION, _EGRESS, on=True)
    if redirects:
        return Step(port, Decision.REDIRECTED, _REQUEST, on=controls.has(_REQUEST))
    return Step(port, _BY_ADDRESS[packet.address], _REQUEST, on=False)
