"""What one function's capabilities say, decoded at once: for those who look after the reading."""

from dataclasses import dataclass

from pcietune.registers.acs import Acs, AcsEnhancedControls
from pcietune.registers.ats import Ats
from pcietune.registers.sriov import SrIov


@dataclass(frozen=True, slots=True)
class AcsRegisters:
    """ACS as it was read.

    Attributes:
        capability: ACS Capability, 16 bits.
        control: ACS Control, 16 bits.
        egress_vector_size: Number of bits of the Egress Control Vector; None without P2P Egress
            Control, or where not known.
        enhanced: Bits 12:7 of ACS Control; None without the ACS Enhanced Capability, or where not
            known.
        in_part: Whether only bits 6:0 of both registers are known.
    """

    capability: int
    control: int
    egress_vector_size: int | None
    enhanced: AcsEnhancedControls | None
    in_part: bool = False

    @classmethod
    def read(cls, acs: Acs | None) -> "AcsRegisters | None":
        """Return what ``acs`` says, None of None; a ConfigSpaceError if it does not answer."""
        if acs is None:
            return None
        if acs.is_told_in_part:
            return cls(acs.capability, acs.control, None, None, in_part=True)
        return cls(acs.capability, acs.control, acs.egress_vector_size, acs.enhanced)


@dataclass(frozen=True, slots=True)
class AtsRegisters:
    """ATS as it was read.

    Attributes:
        capability: ATS Capability, 16 bits.
        control: ATS Control, 16 bits.
        enabled: Whether Enable is set.
        page_aligned_request: Whether untranslated addresses are aligned to 4096 bytes; None, as
            the next two, if not known.
        global_invalidate: Whether Global Invalidate is supported.
        relaxed_ordering: Whether translation requests may carry Relaxed Ordering.
        invalidate_queue_depth: In requests, 1 to 32; None of a virtual function, which shares its
            PF's.
        smallest_translation_unit: In bytes; None of a virtual function, whose PF's holds.
    """

    capability: int
    control: int
    enabled: bool
    page_aligned_request: bool | None
    global_invalidate: bool | None
    relaxed_ordering: bool | None
    invalidate_queue_depth: int | None
    smallest_translation_unit: int | None

    @classmethod
    def read(cls, ats: Ats | None, *, virtual: bool) -> "AtsRegisters | None":
        """Return what ``ats`` says, None of None; a ConfigSpaceError if it does not answer."""
        if ats is None:
            return None
        in_part = ats.is_told_in_part
        return cls(
            capability=ats.capability,
            control=ats.control,
            enabled=ats.enabled,
            page_aligned_request=None if in_part else ats.page_aligned_request,
            global_invalidate=None if in_part else ats.global_invalidate,
            relaxed_ordering=None if in_part else ats.relaxed_ordering,
            invalidate_queue_depth=None if virtual else ats.invalidate_queue_depth,
            smallest_translation_unit=None if virtual else ats.smallest_translation_unit,
        )


@dataclass(frozen=True, slots=True)
class SrIovRegisters:
    """SR-IOV as it was read.

    Attributes:
        total_vfs: Virtual functions that the device can have.
        enabled_vfs: Virtual functions that exist now.
        vf_device_id: Device ID of each of them, 16 bits.
    """

    total_vfs: int
    enabled_vfs: int
    vf_device_id: int

    @classmethod
    def read(cls, sriov: SrIov | None) -> "SrIovRegisters | None":
        """Return what ``sriov`` says, None of None; a ConfigSpaceError if it does not answer."""
        if sriov is None:
            return None
        return cls(sriov.total, sriov.count if sriov.enabled else 0, sriov.vf_device_id)
