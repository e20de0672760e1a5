"""The PCI Express capability: what kind of port, and its link (PCI_EXP_*, pci_regs.h)."""

import enum

from pcietune.registers.capability_list import CapabilityId, find_capability
from pcietune.registers.config_space import ConfigSpace, does_not_answer
from pcietune.registers.fields import BitField

_FLAGS = 0x02  # PCI Express Capabilities Register, 16 bits
_PORT_TYPE = BitField(4, 4)
_LINK_CAPABILITIES = 0x0C  # 32 bits
_LINK_STATUS = 0x12  # 16 bits
_LINK_SPEED = BitField(0, 4)  # same place in both
_LINK_WIDTH = BitField(4, 6)  # lanes; same place in both

_GIGATRANSFERS = (None, 2.5, 5.0, 8.0, 16.0, 32.0, 64.0)  # per second, by Link Speed code


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
        speed: In GT/s; None for a code that is not known or no link.
        lanes: Number of lanes; 0 where there is no link.
    """

    __slots__ = ("lanes", "speed")

    speed: float | None
    lanes: int

    def __init__(self, register: int) -> None:
        code = _LINK_SPEED.get(register)
        self.speed = _GIGATRANSFERS[code] if code < len(_GIGATRANSFERS) else None
        self.lanes = _LINK_WIDTH.get(register)


class Express:
    """One function's PCI Express capability.

    Attributes:
        offset: Of the capability, in bytes.
        port_type: None for a code that the specification did not have when this was written.
        link_capable: The most that its link can do.
        link: What its link runs at.
    """

    __slots__ = ("_config", "offset")

    offset: int
    _config: ConfigSpace

    def __init__(self, config: ConfigSpace, offset: int) -> None:
        self._config = config
        self.offset = offset

    @classmethod
    def find(cls, config: ConfigSpace) -> "Express | None":
        """Return the function's capability, or None for a conventional PCI function.

        Raises:
            ConfigSpaceError: The function does not answer or its list is broken.
            NotPermittedError: The kernel keeps the list from this user.
        """
        capability = find_capability(config, CapabilityId.PCI_EXPRESS)
        return None if capability is None else cls(config, capability.offset)

    @property
    def port_type(self) -> PortType | None:
        """Device/Port Type, read when asked for.

        Raises:
            ConfigSpaceError: The register reads as all ones.
        """
        code = _PORT_TYPE.get(self._config.read_word(self.offset + _FLAGS))
        return PortType(code) if code in PortType.__members__.values() else None

    @property
    def link_capable(self) -> Link:
        """Link Capabilities, read when asked for; same error as ``port_type``."""
        register = self._config.read(self.offset + _LINK_CAPABILITIES, 4)
        if register == 0xFFFFFFFF:
            raise does_not_answer(self._config.address)
        return Link(register)

    @property
    def link(self) -> Link:
        """Link Status, read when asked for; same error as ``port_type``."""
        return Link(self._config.read_word(self.offset + _LINK_STATUS))
