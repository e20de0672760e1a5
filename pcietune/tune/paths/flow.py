"""What passes between two functions when one of them asks, and the routes of all of it."""

from dataclasses import dataclass, replace

from pcietune.model.fabric import Fabric
from pcietune.model.function import PciFunction
from pcietune.model.packet import AddressSpace, Packet, PacketKind
from pcietune.model.route import ControlsOf, trace
from pcietune.model.trace import Outcome, Trace
from pcietune.tune.paths.sender import Sender


@dataclass(frozen=True, slots=True)
class Flow:
    """One function's requests to another, and the answers.

    Attributes:
        sender: The requester.
        completer: The other.
        write: Its posted writes.
        read: Its read requests.
        completion: The data that it read, on the way back, without Relaxed Ordering.
        relaxed: Alike, if the requester asks for Relaxed Ordering and the completer copies that
            into the completion, which it need not; None if the requester does not.
    """

    sender: Sender
    completer: PciFunction
    write: Trace
    read: Trace
    completion: Trace
    relaxed: Trace | None


def flow(fabric: Fabric, sender: Sender, completer: PciFunction, controls_of: ControlsOf) -> Flow:
    """Return the routes of one function's requests to another.

    Where it is not known whether the requests are translated, they are followed as translated if
    both end alike, and else their end is not known either.
    """
    requester = sender.function
    back = Packet(PacketKind.COMPLETION, AddressSpace.PHYSICAL)
    relaxed = Packet(PacketKind.COMPLETION, AddressSpace.PHYSICAL, relaxed_ordering=True)
    return Flow(
        sender=sender,
        completer=completer,
        write=_request(fabric, sender, completer, PacketKind.WRITE, controls_of),
        read=_request(fabric, sender, completer, PacketKind.READ, controls_of),
        completion=trace(fabric, completer, requester, back, controls_of),
        relaxed=trace(fabric, completer, requester, relaxed, controls_of)
        if sender.relaxed_ordering
        else None,
    )


def _request(
    fabric: Fabric,
    sender: Sender,
    completer: PciFunction,
    kind: PacketKind,
    controls_of: ControlsOf,
) -> Trace:
    def followed(*, translated: bool) -> Trace:
        packet = sender.request(kind, translated=translated)
        return trace(fabric, sender.function, completer, packet, controls_of)

    if sender.translated is not None:
        return followed(translated=sender.translated)
    found = followed(translated=True)
    other = followed(translated=False)
    packet = replace(found.packet, translated=None)
    if other.outcome is found.outcome:
        return replace(
            found, packet=packet, iommu=found.iommu if other.iommu is found.iommu else None
        )
    return replace(
        found,
        packet=packet,
        outcome=Outcome.UNKNOWN,
        reason=f"whether its requests are translated is not known: {sender.why}",
        at=None,
        control=None,
        iommu=None,
    )
