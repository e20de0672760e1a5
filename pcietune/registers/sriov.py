"""The SR-IOV Extended Capability (PCI_SRIOV_*, pci_regs.h)."""

from pcietune.registers.capability_list import ExtendedCapabilityId, find_extended
from pcietune.registers.capability_registers import CapabilityRegisters
from pcietune.registers.config_space import ConfigSpace
from pcietune.registers.fields import BitField

_CONTROL = 0x08  # SR-IOV Control Register, 16 bits
_VF_ENABLE = BitField(0)
_TOTAL_VFS = 0x0E  # 16 bits
_NUM_VFS = 0x10  # 16 bits
_FIRST_VF_OFFSET = 0x14  # 16 bits
_VF_STRIDE = 0x16  # 16 bits
_VF_DEVICE_ID = 0x1A  # 16 bits


class SrIov(CapabilityRegisters):
    """One physical function's SR-IOV."""

    __slots__ = ()

    @classmethod
    def find(cls, config: ConfigSpace) -> "SrIov | None":
        """Return a PF's SR-IOV, None for all others; errors as ``extended_capabilities``."""
        found = find_extended(config, ExtendedCapabilityId.SR_IOV)
        return None if found is None else cls(config, found.offset)

    @property
    def enabled(self) -> bool:
        """Whether the virtual functions exist now (VF Enable)."""
        return bool(_VF_ENABLE.get(self._word(_CONTROL)))

    @property
    def total(self) -> int:
        """Virtual functions that the device can have (TotalVFs)."""
        return self._word(_TOTAL_VFS)

    @property
    def count(self) -> int:
        """Virtual functions that software asked for (NumVFs), which exist if ``enabled``."""
        return self._word(_NUM_VFS)

    def routing_id(self, physical: int, index: int) -> int:
        """Return Bus, Device and Function Number of a VF, 16 bits, as pci_iov_virtfn_bus() does.

        Args:
            physical: Those of the PF.
            index: Of the VF, from 0.
        """
        offset, stride = self._word(_FIRST_VF_OFFSET), self._word(_VF_STRIDE)
        return (physical + offset + stride * index) & 0xFFFF

    @property
    def vf_device_id(self) -> int:
        """Device ID of each virtual function, 16 bits; its Vendor ID is the PF's."""
        return self._word(_VF_DEVICE_ID)
