"""The ACS Extended Capability (PCI_EXT_CAP_ID_ACS, pci_regs.h; PCIe r7.0, section 7.7.12)."""

import enum

from pcietune.registers.capability_list import ExtendedCapabilityId, find_extended
from pcietune.registers.config_space import ConfigSpace
from pcietune.registers.fields import BitField, MaskedWrite

_CAPABILITY = 0x04  # ACS Capability Register, 16 bits, read-only
_ENHANCED = BitField(7)  # in ACS Capability; in ACS Control bit 7 is I/O Request Blocking
_EGRESS_VECTOR_SIZE = BitField(8, 8)  # bits of the Egress Control Vector; 0 stands for 256
_CONTROL = 0x06  # ACS Control Register, 16 bits


class AcsControl(enum.Flag):
    """The controls that ACS Capability offers and ACS Control enables, at the same bits.

    Only bits 6:0. Bits 12:7 of ACS Control belong to the ACS Enhanced Capability, which pcietune
    does not touch; they survive because every write carries a mask.
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


class Acs:
    """One function's ACS.

    Attributes:
        offset: Of the Extended Capability, in bytes.
        dword_registers: Whether the registers are 32 bits wide, so that Control is at +8 instead
            of +6 (Intel Sunrise Point and Union Point root ports, kernel commit 1bf2bf229b64).
        capability: ACS Capability, the whole word.
        control: ACS Control, the whole word: also the bits that ``AcsControl`` does not name.
    """

    __slots__ = ("_config", "dword_registers", "offset")

    offset: int
    dword_registers: bool
    _config: ConfigSpace

    def __init__(self, config: ConfigSpace, offset: int, *, dword_registers: bool) -> None:
        self._config = config
        self.offset = offset
        self.dword_registers = dword_registers

    @classmethod
    def find(cls, config: ConfigSpace, *, dword_registers: bool = False) -> "Acs | None":
        """Return the function's ACS, or None if it has no ACS Extended Capability.

        Raises:
            ConfigSpaceError: The function does not answer or a list is broken.
            NotPermittedError: The kernel keeps the list from this user.
        """
        found = find_extended(config, ExtendedCapabilityId.ACS)
        return None if found is None else cls(config, found.offset, dword_registers=dword_registers)

    @property
    def control_offset(self) -> int:
        """Of ACS Control, in bytes from the start of Configuration Space."""
        return self.offset + (0x08 if self.dword_registers else _CONTROL)

    @property
    def capability(self) -> int:
        """ACS Capability, 16 bits, read when asked for."""
        return self._config.read_word(self.offset + _CAPABILITY)

    @property
    def control(self) -> int:
        """ACS Control, 16 bits, read when asked for."""
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
    def enhanced(self) -> bool:
        """Whether bits 12:7 of ACS Control exist."""
        return bool(_ENHANCED.get(self.capability))

    @property
    def egress_vector_size(self) -> int | None:
        """Number of bits of the Egress Control Vector; None without P2P Egress Control."""
        if AcsControl.P2P_EGRESS_CONTROL not in self.supported:
            return None
        return _EGRESS_VECTOR_SIZE.get(self.capability) or 256

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
