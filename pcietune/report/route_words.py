"""The words for routes: short ones for the cells of a matrix, long ones for sentences."""

from pcietune.model.packet import AddressSpace, Packet, PacketKind
from pcietune.model.port_controls import Setting
from pcietune.model.trace import Decision, Outcome, Step
from pcietune.registers.acs import LSPCI_NAMES, AcsControl
from pcietune.tune.paths.flow import Flow

SHORT = {
    Outcome.DIRECT: "direct",
    Outcome.TURNED_ABOVE: "above",
    Outcome.VIA_ROOT_COMPLEX: "rc",
    Outcome.BLOCKED: "BLOCKED",
    Outcome.MISROUTED: "MISROUTED",
    Outcome.UNKNOWN: "?",
}

MEANINGS = {
    Outcome.DIRECT: "turned at the lowest switch that the two have in common",
    Outcome.TURNED_ABOVE: "sent up, and turned by a port higher up, past the IOMMU",
    Outcome.VIA_ROOT_COMPLEX: "up to the root complex and down again",
    Outcome.BLOCKED: "never arrives: an ACS violation, or an IOMMU fault",
    Outcome.MISROUTED: "a guest's address taken for one of this host: wrong data, or a fault",
    Outcome.UNKNOWN: "something on the way could not be read, or is not told",
}

_DECIDED = {
    Decision.UP: "passes it up: what it is for is not below this switch",
    Decision.ACROSS: "turns it across",
    Decision.REDIRECTED: "sends it up, towards the root complex",
    Decision.FORWARDED: "forwards it up, as it was redirected below",
    Decision.TURNED: "turns it back down, as it does not forward what was redirected below",
    Decision.VIOLATION: "refuses it: an ACS violation",
    Decision.MISROUTED: "takes a guest's address for one of this host",
    Decision.NOT_KNOWN: "may turn it across: where it goes is not known",
    Decision.ROOT_COMPLEX: "turns it",
    Decision.DOWN: "passes it down",
}

_ADDRESSES = {
    AddressSpace.PHYSICAL: "by a physical address",
    AddressSpace.KERNEL: "by an I/O virtual address of the kernel's",
    AddressSpace.GUEST: "by a guest's address",
    AddressSpace.UNKNOWN: "by an address of which it is not known what it means",
}


def decided(step: Step, packet: Packet) -> str:
    """Return what a port did, and the control by which it did."""
    control = control_of(step, packet)
    if step.setting is Setting.NOT_KNOWN and step.decision is Decision.NOT_KNOWN:
        return control
    return f"{control}  {_DECIDED[step.decision]}" if control else _DECIDED[step.decision]


def control_of(step: Step, packet: Packet) -> str:
    """Return the control by which a port decided, as it is set there; empty if by none.

    Where a translated request is sent up, what would have let it through stands before.
    """
    if step.setting in (None, Setting.NO_ACS, Setting.NOT_KNOWN):
        return step.control_text
    goes_up = step.decision in (Decision.REDIRECTED, Decision.UP)
    if packet.translated and goes_up and step.control is not AcsControl.TRANSLATION_BLOCKING:
        return f"{LSPCI_NAMES[AcsControl.DIRECT_TRANSLATED_P2P]}- {step.control_text}"
    return step.control_text


def sent(packet: Packet) -> str:
    """Return what a packet is, and how it is addressed."""
    if packet.kind is PacketKind.COMPLETION:
        ordering = "with" if packet.relaxed_ordering else "without"
        return f"{packet.kind}, {ordering} Relaxed Ordering"
    if packet.translated is None:
        return str(packet.kind)
    if packet.translated:
        of_guest = packet.address is AddressSpace.GUEST
        return f"{packet.kind}, translated" + (" to a guest's address" if of_guest else "")
    return f"{packet.kind}, {_ADDRESSES[packet.address]}"


def data_returns_otherwise(flow: Flow) -> bool:
    """Return whether what is read comes back by another kind of way than writes go."""
    return flow.completion.outcome is not flow.write.outcome and flow.read.outcome.arrives
