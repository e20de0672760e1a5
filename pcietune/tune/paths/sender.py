"""What a function sends: which addresses, translated or not, with Relaxed Ordering or without."""

from dataclasses import dataclass

from pcietune.model.function import PciFunction
from pcietune.model.packet import AddressSpace, Packet, PacketKind


@dataclass(frozen=True, slots=True)
class Sender:
    """A function as a requester.

    Attributes:
        function: Which.
        address: What the address in its untranslated requests means.
        translated: Whether it sends translated requests, since its ATS is on, or the kernel turns
            it on when a VM takes it; None if not known.
        answer: What a translation that it gets is: PHYSICAL of all IOMMUs that Linux gives to VMs
            but RISC-V's, which may answer with guest physical addresses (T2GPA).
        relaxed_ordering: Whether it may set Relaxed Ordering (Device Control); None if not known.
        mapped: Whether the IOMMU maps peers' BARs for it; None if not known.
        why: On what ``translated`` stands, in half a sentence.
    """

    function: PciFunction
    address: AddressSpace
    translated: bool | None
    answer: AddressSpace
    relaxed_ordering: bool | None
    mapped: bool | None
    why: str

    def request(self, kind: PacketKind, *, translated: bool) -> Packet:
        """Return the request that it sends."""
        return Packet(
            kind,
            self.answer if translated else self.address,
            translated=translated,
            relaxed_ordering=bool(self.relaxed_ordering),
            mapped=self.mapped,
        )
