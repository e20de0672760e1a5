"""The ports above a function: what they read, what may be set there, and whether it may be now."""

from pcietune.errors import ConfigSpaceError, InUseError
from pcietune.host.config_space import FileConfigSpace
from pcietune.host.hook.place import Place
from pcietune.model.policy import PortDuty
from pcietune.registers.acs import Acs, AcsControl
from pcietune.registers.ats import Ats
from pcietune.registers.express import Express, PortType
from pcietune.registers.fields import MaskedWrite

_DIRECT_TRANSLATED = AcsControl.DIRECT_TRANSLATED_P2P.value
_ISOLATING = (
    AcsControl.SOURCE_VALIDATION
    | AcsControl.P2P_REQUEST_REDIRECT
    | AcsControl.P2P_COMPLETION_REDIRECT
    | AcsControl.UPSTREAM_FORWARDING
).value
"""What the kernel's IOMMU groups stand on (drivers/iommu/iommu.c, REQ_ACS_FLAGS)."""

_SWITCH_PORTS = (PortType.UPSTREAM_PORT, PortType.DOWNSTREAM_PORT)


class Port:
    """A port that owes something.

    Attributes:
        place: Where it is.
        duty: What it owes.
        config: Its Configuration Space.
        acs: Its ACS.
    """

    __slots__ = ("acs", "config", "duty", "place")

    def __init__(self, place: Place, duty: PortDuty) -> None:
        """Find its ACS, if it is the port that the policy means.

        Raises:
            ConfigSpaceError: It vanished, sleeps, is another one or has no ACS.
            PcietuneError: It cannot be read.
        """
        if place.id != duty.id:
            raise ConfigSpaceError(f"{place.address} is {place.id}, and the policy means {duty.id}")
        self.place = place
        self.duty = duty
        self.config = _config(place)
        _check_type(place, self.config)
        acs = Acs.find(self.config, dword_registers=duty.dword_registers)
        if acs is None:
            raise ConfigSpaceError(f"{place.address} has no ACS")
        self.acs = acs

    def word(self) -> int:
        """Return ACS Control as it reads now; errors as ``ConfigSpace.read_word``."""
        return self.config.read_word_again(self.acs.control_offset)

    def write_for(self, word: int) -> MaskedWrite | None:
        """Return the write of what may be set and is not in ``word``; None if there is none."""
        wrong = (word ^ self.duty.set_value) & self.duty.set_mask
        if not wrong or self.duty.dword_registers:
            return None
        return self.acs.write(AcsControl(self.duty.set_value & wrong), among=AcsControl(wrong))


def ports_above(place: Place, duties: tuple[PortDuty, ...]) -> list[Port]:
    """Return the ports above a function that owe something.

    Raises:
        ConfigSpaceError: One is not there; or as of ``Port``.
    """
    above = {port.location: port for port in place.above()}
    found = []
    for duty in duties:
        if duty.location not in above:
            raise ConfigSpaceError(f"{duty.location} is not above {place.address}")
        found.append(Port(above[duty.location], duty))
    return found


def check_may_be_set(port: Port, write: MaskedWrite, trusted: tuple[str, ...]) -> None:
    """Do nothing if what is below the port lets this be written now.

    Raises:
        InUseError: VFIO uses or relies on something there, or something there may lie.
        PcietuneError: That cannot be read.
    """
    cleared = write.mask & ~write.value & _ISOLATING
    opens = write.value & _DIRECT_TRANSLATED
    for below in port.place.below():
        if below.in_use_by_vfio:
            raise InUseError(f"{below.address} below {port.place.address} is in use by VFIO")
        if cleared and below.given_to_vfio:
            raise InUseError(f"VFIO relies on the isolation of {below.address}")
        if opens and below.id not in trusted and has_ats(below):
            raise InUseError(f"{below.address} has ATS and is not trusted")


def has_ats(place: Place) -> bool:
    """Return whether a function has an ATS capability, which a bridge has not.

    Raises:
        PcietuneError: It sleeps, vanished or cannot be read.
    """
    return not place.is_bridge and Ats.find(_config(place)) is not None


def _config(place: Place) -> FileConfigSpace:
    if place.text("power_state") == "D3cold":
        raise ConfigSpaceError(f"{place.address} is in D3cold and is not woken")
    return FileConfigSpace(place.address, f"{place.directory}/config")


def _check_type(place: Place, config: FileConfigSpace) -> None:
    """Do nothing if it is the kind of port that can be there.

    Some switches mix up their own two kinds, which Linux corrects (drivers/pci/probe.c,
    set_pcie_port_type).
    """
    express = Express.find(config)
    kind = None if express is None else express.port_type
    on_root_bus = not place.ports
    possible = (PortType.ROOT_PORT,) if on_root_bus else _SWITCH_PORTS
    if kind not in possible:
        raise ConfigSpaceError(f"{place.address} is no {'root' if on_root_bus else 'switch'} port")
