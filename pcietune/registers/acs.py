"""The ACS Extended Capability (PCI_EXT_CAP_ID_ACS, pci_regs.h; PCIe r7.0, section 7.7.12)."""

import enum

from pcietune.registers.capability_list import ExtendedCapabilityId, find_extended
from pcietune.registers.capability_registers import CapabilityRegisters
from pcietune.registers.config_space import ConfigSpace
from pcietune.registers.fields import BitField, MaskedWrite

_CAPABILITY = 0x04  # ACS Capability Register, 16 bits, read-only
_ENHANCED = BitField(7)
_EGRESS_VECTOR_SIZE = BitField(8, 8)  # bits of the Egress Control Vector; 0 stands for 256
_CONTROL = 0x06  # ACS Control Register, 16 bits
_EGRESS_VECTOR = 0x08  # Egress Control Vector, as many 32-bit words as its size takes
_IO_REQUEST_BLOCKING = BitField(7)
_DSP_MEMORY_TARGET_ACCESS = BitField(8, 2)
_USP_MEMORY_TARGET_ACCESS = BitField(10, 2)
_UNCLAIMED_REQUEST_REDIRECT = BitField(12)


class AcsControl(enum.Flag, boundary=enum.STRICT):
    """The controls that ACS Capability offers and ACS Control enables, at the same bits.

    Only bits 6:0. Bits 12:7 of ACS Control belong to the ACS Enhanced Capability, which pcietune
    only shows; they survive because every write carries a mask.
    """

    SOURCE_VALIDATION = 1 << 0
    TRANSLATION_BLOCKING = 1 << 1
    P2P_REQUEST_REDIRECT = 1 << 2
    P2P_COMPLETION_REDIRECT = 1 << 3
    UPSTREAM_FORWARDING = 1 << 4
    P2P_EGRESS_CONTROL = 1 << 5
    DIRECT_TRANSLATED_P2P = 1 << 6

    @classmethod
    def decode(cls, word: int) -> "AcsControl":
        """Return the controls set in either register's ``word``."""
        return cls(word & (~cls(0)).value)


LSPCI_NAMES = {
    AcsControl.SOURCE_VALIDATION: "SrcValid",
    AcsControl.TRANSLATION_BLOCKING: "TransBlk",
    AcsControl.P2P_REQUEST_REDIRECT: "ReqRedir",
    AcsControl.P2P_COMPLETION_REDIRECT: "CmpltRedir",
    AcsControl.UPSTREAM_FORWARDING: "UpstreamFwd",
    AcsControl.P2P_EGRESS_CONTROL: "EgressCtrl",
    AcsControl.DIRECT_TRANSLATED_P2P: "DirectTrans",
}
"""The one table from the specification's names to those that lspci, and so the user, says."""


def lspci_controls(control: int) -> tuple[str, ...]:
    """Return the seven named controls of an ACS Control word in lspci's spelling and order."""
    enabled = AcsControl.decode(control)
    return tuple(f"{name}{'+' if c in enabled else '-'}" for c, name in LSPCI_NAMES.items())


class MemoryTargetAccess(enum.IntEnum):
    """What becomes of a request that comes from below and is for a switch port's own memory BAR."""

    DIRECT = 0b00
    BLOCK = 0b01
    REDIRECT = 0b10
    RESERVED = 0b11


class AcsEnhancedControls:
    """ACS Control bits 12:7 (PCI_ACS_IB to PCI_ACS_URRC, pci_regs.h).

    Attributes:
        io_request_blocking: Whether I/O Requests from below are blocked.
        dsp_memory_target_access: For BARs of Downstream Ports.
        usp_memory_target_access: For BARs of the Upstream Port.
        unclaimed_request_redirect: Whether a request inside the Upstream Port's window that no
            Downstream Port claims goes upstream, instead of being an Unsupported Request.
    """

    __slots__ = (
        "dsp_memory_target_access",
        "io_request_blocking",
        "unclaimed_request_redirect",
        "usp_memory_target_access",
    )

    io_request_blocking: bool
    dsp_memory_target_access: MemoryTargetAccess
    usp_memory_target_access: MemoryTargetAccess
    unclaimed_request_redirect: bool

    def __init__(self, control: int) -> None:
        self.io_request_blocking = bool(_IO_REQUEST_BLOCKING.get(control))
        self.dsp_memory_target_access = MemoryTargetAccess(_DSP_MEMORY_TARGET_ACCESS.get(control))
        self.usp_memory_target_access = MemoryTargetAccess(_USP_MEMORY_TARGET_ACCESS.get(control))
        self.unclaimed_request_redirect = bool(_UNCLAIMED_REQUEST_REDIRECT.get(control))


class Acs(CapabilityRegisters):
    """One function's ACS.

    Attributes:
        dword_registers: Whether the registers are 32 bits wide, so that Control is at +8 instead
            of +6 (Intel Sunrise Point and Union Point root ports, kernel commit 1bf2bf229b64).
    """

    __slots__ = ("dword_registers",)

    dword_registers: bool

    def __init__(self, config: ConfigSpace, offset: int, *, dword_registers: bool) -> None:
        super().__init__(config, offset)
        self.dword_registers = dword_registers

    @classmethod
    def find(cls, config: ConfigSpace, *, dword_registers: bool = False) -> "Acs | None":
        """Return the function's ACS, None if it has none; errors as ``extended_capabilities``."""
        found = find_extended(config, ExtendedCapabilityId.ACS)
        return None if found is None else cls(config, found.offset, dword_registers=dword_registers)

    @property
    def control_offset(self) -> int:
        """Of ACS Control, in bytes from the start of Configuration Space."""
        return self.offset + (0x08 if self.dword_registers else _CONTROL)

    @property
    def capability(self) -> int:
        """ACS Capability, all 16 bits."""
        return self._word(_CAPABILITY)

    @property
    def control(self) -> int:
        """ACS Control, all 16 bits: also those that ``AcsControl`` does not name."""
        return self._config.read_word(self.control_offset)

    @property
    def supported(self) -> AcsControl:
        """Controls that the function implements."""
        return AcsControl.decode(self.capability)

    @property
    def enabled(self) -> AcsControl:
        """Controls that are on."""
        return AcsControl.decode(self.control)

    @property
    def is_told_in_part(self) -> bool:
        """Whether of both registers only bits 6:0 are known, as of a text that names them."""
        return bool(self._config.untold(self.offset + _CAPABILITY))

    @property
    def told_capability(self) -> str:
        """ACS Capability for people: in hex, or by names where only bits with names are known."""
        return self._told(self.capability)

    @property
    def told_control(self) -> str:
        """ACS Control for people, like ``told_capability``."""
        return self._told(self.control)

    def _told(self, word: int) -> str:
        return " ".join(lspci_controls(word)) if self.is_told_in_part else f"{word:#06x}"

    @property
    def enhanced(self) -> AcsEnhancedControls | None:
        """What bits 12:7 of ACS Control say; None without the ACS Enhanced Capability.

        Raises:
            ConfigSpaceError: They are not known; or as ``read_word``.
        """
        self._config.check_told(self.offset + _CAPABILITY, 1 << 7)
        return AcsEnhancedControls(self.control) if _ENHANCED.get(self.capability) else None

    @property
    def egress_vector_size(self) -> int | None:
        """Number of bits of the Egress Control Vector; None without P2P Egress Control.

        Raises:
            ConfigSpaceError: It is not known; or as ``read_word``.
        """
        if AcsControl.P2P_EGRESS_CONTROL not in self.supported:
            return None
        self._config.check_told(self.offset + _CAPABILITY, 0xFF00)
        return _EGRESS_VECTOR_SIZE.get(self.capability) or 256

    def egress_blocks(self, number: int) -> bool | None:
        """Return a bit of the Egress Control Vector; None beyond its size.

        Args:
            number: Port Number of another port of the switch, or Function Number of another
                function of the device.
        """
        size = self.egress_vector_size
        if size is None or number >= size:
            return None
        word = self._double_word(_EGRESS_VECTOR + number // 32 * 4)
        return bool(BitField(number % 32).get(word))

    def write(self, enabled: AcsControl, *, among: AcsControl) -> MaskedWrite:
        """Return the write that makes ``enabled`` hold for the controls ``among`` and no others.

        Raises:
            ValueError: The registers are 32 bits wide: pcietune never writes those.
        """
        if self.dword_registers:
            raise ValueError(f"{self._config.address}: ACS registers with a quirk are not written")
        return MaskedWrite(
            offset=self.control_offset, width=2, value=enabled.value, mask=among.value
        )
