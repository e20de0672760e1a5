"""Device Capabilities and Device Control of PCI Express (PCI_EXP_DEV*, pci_regs.h)."""

from pcietune.registers.capability_list import CapabilityId, find_capability
from pcietune.registers.capability_registers import CapabilityRegisters
from pcietune.registers.config_space import ConfigSpace
from pcietune.registers.fields import BitField

_CAPABILITIES = 0x04  # Device Capabilities Register, 32 bits
_MAX_PAYLOAD_SUPPORTED = BitField(0, 3)
_CONTROL = 0x08  # Device Control Register, 16 bits
_RELAXED_ORDERING = BitField(4)
_MAX_PAYLOAD = BitField(5, 3)

_SMALLEST_PAYLOAD = 128  # bytes; each code doubles it, also those that are not specified yet


class DeviceControl(CapabilityRegisters):
    """What one function may put into its packets.

    Of a virtual function these fields are reserved: its PF's hold for it.
    """

    __slots__ = ()

    @classmethod
    def find(cls, config: ConfigSpace) -> "DeviceControl | None":
        """Return the function's, None if it is conventional PCI; errors as ``capabilities``."""
        capability = find_capability(config, CapabilityId.PCI_EXPRESS)
        return None if capability is None else cls(config, capability.offset)

    @property
    def max_payload_supported(self) -> int:
        """Bytes of the largest payload that the function can do (Max_Payload_Size Supported)."""
        code = _MAX_PAYLOAD_SUPPORTED.get(self._double_word(_CAPABILITIES))
        return _SMALLEST_PAYLOAD << code

    @property
    def max_payload(self) -> int:
        """Bytes of the largest payload that it sends and takes now (Max_Payload_Size)."""
        return _SMALLEST_PAYLOAD << _MAX_PAYLOAD.get(self.control)

    @property
    def relaxed_ordering(self) -> bool:
        """Whether it may set Relaxed Ordering in its requests (Enable Relaxed Ordering)."""
        return bool(_RELAXED_ORDERING.get(self.control))

    @property
    def control(self) -> int:
        """Device Control, 16 bits."""
        return self._word(_CONTROL)
