"""The ATS Extended Capability (PCI_EXT_CAP_ID_ATS, pci_regs.h; PCIe r6.0, section 10.5.1)."""

from pcietune.registers.capability_list import ExtendedCapabilityId, find_extended
from pcietune.registers.capability_registers import CapabilityRegisters
from pcietune.registers.config_space import ConfigSpace
from pcietune.registers.fields import BitField, MaskedWrite

_CAPABILITY = 0x04  # ATS Capability Register, 16 bits, read-only
_INVALIDATE_QUEUE_DEPTH = BitField(0, 5)  # 0 stands for 32
_PAGE_ALIGNED_REQUEST = BitField(5)
_GLOBAL_INVALIDATE = BitField(6)
_RELAXED_ORDERING = BitField(7)
_CONTROL = 0x06  # ATS Control Register, 16 bits
_SMALLEST_TRANSLATION_UNIT = BitField(0, 5)  # log2 of 4096-byte blocks
_ENABLE = BitField(15)
ENABLE_MASK = 0x8000


class Ats(CapabilityRegisters):
    """One function's ATS."""

    __slots__ = ()

    @classmethod
    def find(cls, config: ConfigSpace) -> "Ats | None":
        """Return the function's ATS, None if it has none; errors as ``extended_capabilities``."""
        found = find_extended(config, ExtendedCapabilityId.ATS)
        return None if found is None else cls(config, found.offset)

    @property
    def capability(self) -> int:
        """ATS Capability, 16 bits."""
        return self._word(_CAPABILITY)

    @property
    def control_offset(self) -> int:
        """Of ATS Control, in bytes from the start of Configuration Space."""
        return self.offset + _CONTROL

    @property
    def control(self) -> int:
        """ATS Control, 16 bits."""
        return self._word(_CONTROL)

    @property
    def is_told_in_part(self) -> bool:
        """Whether of ATS Capability only the Invalidate Queue Depth is known."""
        return bool(self._config.untold(self.offset + _CAPABILITY))

    @property
    def invalidate_queue_depth(self) -> int:
        """Invalidate Requests accepted before back-pressure, 1 to 32; a VF shares its PF's."""
        return _INVALIDATE_QUEUE_DEPTH.get(self.capability) or 32

    @property
    def page_aligned_request(self) -> bool:
        """Whether untranslated addresses are aligned to 4096 bytes; Linux on Intel demands it.

        Raises:
            ConfigSpaceError: It is not known; or as ``read_word``.
        """
        self._config.check_told(self.offset + _CAPABILITY, 1 << 5)
        return bool(_PAGE_ALIGNED_REQUEST.get(self.capability))

    @property
    def global_invalidate(self) -> bool:
        """Whether Global Invalidate is supported (used with PASID)."""
        return bool(_GLOBAL_INVALIDATE.get(self.capability))

    @property
    def relaxed_ordering(self) -> bool:
        """Whether translation requests may carry Relaxed Ordering."""
        return bool(_RELAXED_ORDERING.get(self.capability))

    @property
    def smallest_translation_unit(self) -> int:
        """In bytes. Hardwired to 4096 on a VF, whose PF's value holds."""
        return 4096 << _SMALLEST_TRANSLATION_UNIT.get(self.control)

    @property
    def enabled(self) -> bool:
        """Whether the function may send translation requests and cache translations."""
        return bool(_ENABLE.get(self.control))

    def write_enable(self) -> MaskedWrite:
        """Return the write that sets Enable and leaves the Smallest Translation Unit as it is."""
        return MaskedWrite(offset=self.control_offset, width=2, value=ENABLE_MASK, mask=ENABLE_MASK)
