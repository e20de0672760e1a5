"""The PCI Express capability: what kind of port, and its link (PCI_EXP_*, pci_regs.h)."""

import enum

from pcietune.registers.capability_list import CapabilityId, find_capability
from pcietune.registers.capability_registers import CapabilityRegisters
from pcietune.registers.config_space import ConfigSpace
from pcietune.registers.fields import BitField

_FLAGS = 0x02  # PCI Express Capabilities Register, 16 bits
_VERSION = BitField(0, 4)
_PORT_TYPE = BitField(4, 4)
_LINK_CAPABILITIES = 0x0C  # 32 bits
_PORT_NUMBER = BitField(24, 8)  # of Link Capabilities
_LINK_STATUS = 0x12  # 16 bits
_LINK_CONTROL_2 = 0x30  # 16 bits; from capability version 2 on
_LINK_SPEED = BitField(0, 4)  # same place in all three
_LINK_WIDTH = BitField(4, 6)  # lanes; same place in the first two

_GIGATRANSFERS = (None, 2.5, 5.0, 8.0, 16.0, 32.0, 64.0)  # per second, by Link Speed code

_SECOND_VERSION = 2


class PortType(enum.IntEnum):
    """Device/Port Type."""

    ENDPOINT = 0x0
    LEGACY_ENDPOINT = 0x1
    ROOT_PORT = 0x4
    UPSTREAM_PORT = 0x5
    DOWNSTREAM_PORT = 0x6
    PCIE_TO_PCI_BRIDGE = 0x7
    PCI_TO_PCIE_BRIDGE = 0x8
    RC_INTEGRATED_ENDPOINT = 0x9
    RC_EVENT_COLLECTOR = 0xA


class Link:
    """What a link runs at, or could.

    Attributes:
        code: Of the speed: a faster one is larger; 0 where there is no link.
        speed: In GT/s; None for a code that is not known or no link.
        lanes: Number of lanes; 0 where there is no link.
    """

    __slots__ = ("code", "lanes", "speed")

    code: int
    speed: float | None
    lanes: int

    def __init__(self, register: int) -> None:
        self.code = _LINK_SPEED.get(register)
        self.speed = _GIGATRANSFERS[self.code] if self.code < len(_GIGATRANSFERS) else None
        self.lanes = _LINK_WIDTH.get(register)


class Express(CapabilityRegisters):
    """One function's PCI Express capability."""

    __slots__ = ()

    @classmethod
    def find(cls, config: ConfigSpace) -> "Express | None":
        """Return the function's, None if it is conventional PCI; errors as ``capabilities``."""
        capability = find_capability(config, CapabilityId.PCI_EXPRESS)
        return None if capability is None else cls(config, capability.offset)

    @property
    def port_type(self) -> PortType | None:
        """Device/Port Type; None for a code that was not specified when this was written."""
        code = _PORT_TYPE.get(self._word(_FLAGS))
        return PortType(code) if code in PortType.__members__.values() else None

    @property
    def link_capable(self) -> Link:
        """Link Capabilities: the most that its link can do."""
        return Link(self._double_word(_LINK_CAPABILITIES))

    @property
    def port_number(self) -> int:
        """Port Number of Link Capabilities: a port's bit in Egress Control Vectors."""
        return _PORT_NUMBER.get(self._double_word(_LINK_CAPABILITIES))

    @property
    def link(self) -> Link:
        """Link Status: what its link runs at."""
        return Link(self._word(_LINK_STATUS))

    @property
    def target_speed(self) -> int | None:
        """Code of Target Link Speed, which of a port limits the link below it; None if no limit."""
        if _VERSION.get(self._word(_FLAGS)) < _SECOND_VERSION:
            return None
        return _LINK_SPEED.get(self._word(_LINK_CONTROL_2)) or None
