"""What one function sends to another, as far as it decides about the route."""

from dataclasses import dataclass
from enum import StrEnum


class PacketKind(StrEnum):
    """Packets (TLPs) between two functions."""

    WRITE = "posted write"  # Memory Write Request
    READ = "read request"  # Memory Read Request
    COMPLETION = "read completion"  # routed by the requester's ID, not by an address


class AddressSpace(StrEnum):
    """What the address in a request means."""

    PHYSICAL = "physical"  # as ports decode it: no IOMMU, an identity domain, or answered by ATS
    KERNEL = "I/O virtual, the kernel's"  # the kernel keeps the bridges' windows out of these
    GUEST = "guest physical"  # VFIO maps a guest's addresses, whatever windows they fall into
    UNKNOWN = "not known"


@dataclass(frozen=True, slots=True)
class Packet:
    """One kind of packet.

    Attributes:
        kind: Which.
        address: What the address of a request means; of no account for a completion, which has
            none.
        translated: Whether a request's AT field says "translated", as ATS gives it (10b); None
            where a way is told that stands for both.
        relaxed_ordering: Whether its Relaxed Ordering attribute is set. A completer may copy it
            from the request into the completion, and need not.
        mapped: Whether the IOMMU maps the target's BAR for the sender; None if not known. Of
            account where the IOMMU translates, or answers a translation request.
        forged: Whether the function made the translation up itself, so that no request for one
            went before; of account for translated requests only.
    """

    kind: PacketKind
    address: AddressSpace
    translated: bool | None = False
    relaxed_ordering: bool = False
    mapped: bool | None = True
    forged: bool = False

    @property
    def asks_before(self) -> bool:
        """Whether a request for a translation goes before it, all the way up."""
        asks = self.translated is True and not self.forged
        return asks and self.kind is not PacketKind.COMPLETION
