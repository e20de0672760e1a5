"""The SR-IOV Extended Capability (PCI_SRIOV_*, pci_regs.h)."""

from pcietune.registers.capability_list import ExtendedCapabilityId, find_extended
from pcietune.registers.config_space import ConfigSpace
from pcietune.registers.fields import BitField

_CONTROL = 0x08  # SR-IOV Control Register, 16 bits
_VF_ENABLE = BitField(0)
_TOTAL_VFS = 0x0E  # 16 bits
_NUM_VFS = 0x10  # 16 bits
_VF_DEVICE_ID = 0x1A  # 16 bits


class SrIov:
    """One physical function's SR-IOV; a register of all ones is a ConfigSpaceError.

    Attributes:
        offset: Of the Extended Capability, in bytes.
    """

    __slots__ = ("_config", "offset")

    offset: int
    _config: ConfigSpace

    def __init__(self, config: ConfigSpace, offset: int) -> None:
        self._config = config
        self.offset = offset

    @classmethod
    def find(cls, config: ConfigSpace) -> "SrIov | None":
        """Return the function's SR-IOV, or None if it is not a physical function.

        Raises:
            ConfigSpaceError: The function does not answer or a list is broken.
            NotPermittedError: The kernel keeps the list from this user.
        """
        found = find_extended(config, ExtendedCapabilityId.SR_IOV)
        return None if found is None else cls(config, found.offset)

    @property
    def enabled(self) -> bool:
        """Whether the virtual functions exist now (VF Enable)."""
        return bool(_VF_ENABLE.get(self._config.read_word(self.offset + _CONTROL)))

    @property
    def total(self) -> int:
        """Virtual functions that the device can have (TotalVFs)."""
        return self._config.read_word(self.offset + _TOTAL_VFS)

    @property
    def count(self) -> int:
        """Virtual functions that software asked for (NumVFs)."""
        return self._config.read_word(self.offset + _NUM_VFS)

    @property
    def vf_device_id(self) -> int:
        """Device ID of each virtual function, 16 bits; its Vendor ID is the PF's."""
        return self._config.read_word(self.offset + _VF_DEVICE_ID)
