"""What there is to compare of one function: sysfs, and registers as far as they can be read."""

from collections.abc import Callable, Iterator

from pcietune.errors import PcietuneError
from pcietune.model.access import HostAccess
from pcietune.model.fabric import Fabric
from pcietune.model.function import FunctionState, PciFunction
from pcietune.model.not_known import NOT_KNOWN
from pcietune.model.platform import Platform
from pcietune.registers.acs import LSPCI_NAMES, Acs
from pcietune.registers.ats import Ats
from pcietune.registers.device_control import DeviceControl
from pcietune.registers.express import Express, PortType
from pcietune.registers.sriov import SrIov
from pcietune.tune.diff.fact import Fact, Kind
from pcietune.tune.port_acs import find_acs

ACS_CAPABILITY = "ACS capability"
ATS_CAPABILITY = "ATS capability"
ATS_BELOW = "ATS below, by the table DMAR"
ENABLED_VFS = "VFs"
_CLASS_NOT_TOLD = 0xFFFF
_ENHANCED = 0x1F80  # bits 12:7 of ACS Control
_HAS_LINK_BELOW = (PortType.ROOT_PORT, PortType.DOWNSTREAM_PORT)


class FunctionReader:
    """Reads the facts of one host's functions.

    Attributes:
        problems: What kept some from being read; a function's Configuration Space counts once.
    """

    def __init__(self, host: HostAccess, fabric: Fabric) -> None:
        self.problems: dict[str, PcietuneError] = {}
        self._host = host
        self._fabric = fabric

    def facts(self, function: PciFunction, state: FunctionState | None) -> tuple[Fact, ...]:
        """Return the facts of a function; its links only if its registers may be read.

        Args:
            function: Any.
            state: What sysfs says of it; None if it vanished.
        """
        virtual = state is not None and state.physical_function is not None
        platform = self._host.platform()
        found = [*_of_identity(function), Fact(Kind.DRIVER, "driver", function.driver)]
        if state is not None:
            found += _of_state(state, platform)
        if platform.dmar is not None and self._is_root_port(function):
            allowed = platform.dmar.allows(function, function)
            found.append(Fact(Kind.FIRMWARE, ATS_BELOW, "allowed" if allowed else "not allowed"))
        found += self._read(lambda: list(self._acs(function)), Kind.ACS, ACS_CAPABILITY)
        found += self._read(lambda: list(self._ats(function, virtual)), Kind.ATS, ATS_CAPABILITY)
        if not virtual:  # of VFs these are reserved, and the PF's hold
            found += self._read(
                lambda: list(self._control(function)), Kind.DEVICE_CONTROL, "MaxPayload"
            )
            found += self._read(lambda: list(self._sriov(function)), Kind.SRIOV, "TotalVFs")
            found += self._read(lambda: list(self._link(function)), Kind.LINK, "width")
        return tuple(found)

    def _is_root_port(self, function: PciFunction) -> bool:
        bridge = function.is_pci_bridge and not function.ports
        return bridge and self._fabric.port_type(function) is PortType.ROOT_PORT

    def _read(self, read: Callable[[], list[Fact]], kind: Kind, name: str) -> list[Fact]:
        """Return what ``read`` returns, or that its leading fact is not known."""
        try:
            return read()
        except PcietuneError as error:
            self.problems.setdefault(str(error), error)
            return [Fact(kind, name, NOT_KNOWN)]

    def _acs(self, function: PciFunction) -> Iterator[Fact]:
        acs = find_acs(self._host, function)
        if acs is None:
            yield Fact(Kind.ACS, ACS_CAPABILITY, None)
            return
        in_part = acs.is_told_in_part
        yield Fact(Kind.ACS, ACS_CAPABILITY, NOT_KNOWN if in_part else _capability(acs))
        enabled = acs.enabled
        for control, name in LSPCI_NAMES.items():
            yield Fact(Kind.ACS, name, f"{name}{_sign(on=control in enabled)}")
        enhanced = NOT_KNOWN if in_part else f"{acs.control & _ENHANCED:#06x}"
        yield Fact(Kind.ACS, "ACSCtl bits 12:7", enhanced)

    def _ats(self, function: PciFunction, virtual: bool) -> Iterator[Fact]:  # noqa: FBT001
        ats = Ats.find(self._host.config(function))
        if ats is None:
            yield Fact(Kind.ATS, ATS_CAPABILITY, None)
            return
        in_part = ats.is_told_in_part
        yield Fact(Kind.ATS, ATS_CAPABILITY, NOT_KNOWN if in_part else f"{ats.capability:#06x}")
        yield Fact(Kind.ATS, "ATS Enable", f"ATS Enable{_sign(on=ats.enabled)}")
        if not virtual:
            unit = f"{ats.smallest_translation_unit} bytes"
            yield Fact(Kind.ATS, "Smallest Translation Unit", unit)

    def _control(self, function: PciFunction) -> Iterator[Fact]:
        control = DeviceControl.find(self._host.config(function))
        if control is not None:
            ordering = f"RlxdOrd{_sign(on=control.relaxed_ordering)}"
            yield Fact(Kind.DEVICE_CONTROL, "MaxPayload", f"{control.max_payload} bytes")
            yield Fact(Kind.DEVICE_CONTROL, "RlxdOrd", ordering)

    def _sriov(self, function: PciFunction) -> Iterator[Fact]:
        sriov = SrIov.find(self._host.config(function))
        yield Fact(Kind.SRIOV, "TotalVFs", None if sriov is None else str(sriov.total))
        if sriov is not None:
            yield Fact(Kind.SRIOV, ENABLED_VFS, str(sriov.count if sriov.enabled else 0))

    def _link(self, function: PciFunction) -> Iterator[Fact]:
        """Yield the link above a function; a port's own is that of what is below it.

        Configuration Space is opened before: it refuses a function in D3cold, which the kernel
        would power up to tell its link.
        """
        express = Express.find(self._host.config(function))
        if express is None:
            return
        if function.is_pci_bridge and self._fabric.port_type(function) in _HAS_LINK_BELOW:
            return
        told, read = self._host.link(function), express.link
        width, speed = told.width or read.lanes, told.speed or read.speed
        yield Fact(Kind.LINK, "width", f"x{width}" if width else None)
        if width:
            yield Fact(Kind.LINK, "speed", NOT_KNOWN if speed is None else _speed(speed))


def _of_identity(function: PciFunction) -> Iterator[Fact]:
    told = function.device_class != _CLASS_NOT_TOLD
    yield Fact(Kind.FUNCTION, "id", function.id if function.is_id_told else NOT_KNOWN)
    yield Fact(Kind.FUNCTION, "class", f"{function.device_class:04x}" if told else NOT_KNOWN)
    if function.subsystem_vendor:
        subsystem = f"{function.subsystem_vendor:04x}:{function.subsystem_device:04x}"
        yield Fact(Kind.FUNCTION, "subsystem id", subsystem)


def _of_state(state: FunctionState, platform: Platform) -> Iterator[Fact]:
    node = {None: NOT_KNOWN, -1: None}.get(state.numa_node, str(state.numa_node))
    yield Fact(Kind.NUMA, "NUMA node", node)
    group = platform.group(state.group)
    if group is not None:
        yield Fact(Kind.GROUP, "group type", NOT_KNOWN if group.type is None else group.type)


def _capability(acs: Acs) -> str:
    names = [name for control, name in LSPCI_NAMES.items() if control in acs.supported]
    return f"{acs.capability:#06x} ({' '.join(names) or 'no control'})"


def _speed(speed: str | float) -> str:
    """Return a speed as sysfs prints it, or of as many GT/s as a register says."""
    return speed.removesuffix(" PCIe") if isinstance(speed, str) else f"{speed} GT/s"


def _sign(*, on: bool) -> str:
    return "+" if on else "-"
