"""What the ports of a host owe in ACS Control from enumeration on."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from pcietune.errors import ConfigSpaceError, ExitCode, NotPermittedError
from pcietune.model.finding import State
from pcietune.model.function import PciFunction
from pcietune.model.quirks import quirk_of
from pcietune.registers.acs import AcsControl
from pcietune.tune.audit.judge_ports import JudgedBit
from pcietune.tune.vfio_use import ISOLATION

_ASKED_FOR = (State.PASS, State.FAIL)


@dataclass(frozen=True, slots=True)
class OwedPort:
    """A port and what is wanted of its ACS Control.

    Attributes:
        port: The port.
        supported: Controls that it has.
        control: Its ACS Control now, all 16 bits.
        mask: Controls that the profile names and the port has.
        enabled: Those of them that are to be on.
        written: Those of them that pcietune may have written since boot.
    """

    port: PciFunction
    supported: AcsControl
    control: int
    mask: AcsControl
    enabled: AcsControl
    written: AcsControl

    @property
    def spelled(self) -> AcsControl:
        """All seven controls as they are to be: what the profile does not name stays as it is."""
        return AcsControl.decode(self.control) & ~self.mask | self.enabled

    @property
    def is_left_to_the_kernel(self) -> bool:
        """Whether it is as wanted, by nothing but what the kernel sets where an IOMMU is on."""
        off = self.mask & ~self.enabled
        beyond = self.enabled & ~ISOLATION | off & (ISOLATION | self.written)
        return not beyond and self.is_met_by(self.control)

    def is_met_by(self, control: int) -> bool:
        """Return whether a word of ACS Control is as the profile wants it."""
        return AcsControl.decode(control) & self.mask == self.enabled


@dataclass(frozen=True, slots=True)
class Owed:
    """What all ports owe.

    Attributes:
        ports: In the order of addresses.
        left_out: Sentences on ports for which the kernel heeds no option.
    """

    ports: tuple[OwedPort, ...]
    left_out: tuple[str, ...] = ()


def owed(bits: Sequence[JudgedBit]) -> Owed:
    """Return what the ports owe, without what is waived or not asked of them.

    Raises:
        ConfigSpaceError: A port could not be read, so that not all of its controls can be spelled.
        NotPermittedError: This user may not read it.
    """
    _check_read(bits)
    ports, left_out = [], []
    asked = [bit for bit in bits if bit.finding.state in _ASKED_FOR]
    for _, group in groupby(asked, key=lambda bit: bit.requirement.placed.port.address):
        of_port = list(group)
        port, acs = of_port[0].requirement.placed.port, of_port[0].acs
        quirk = quirk_of(port)
        if acs is None:
            continue  # no ACS: no option sets anything, and the audit says what that means
        if quirk is not None and quirk.dword_acs:
            left_out.append(f"{port.address}: the kernel heeds no option here: {quirk.says}")
            continue
        may_be_set = acs.supported & ~(AcsControl(0) if quirk is None else quirk.not_set)
        mask = _controls(of_port) & may_be_set
        if not mask:
            continue  # nothing that is asked of it can be set, so nothing is
        enabled = _controls(bit for bit in of_port if bit.requirement.want.on) & may_be_set
        written = _controls(bit for bit in of_port if bit.requirement.writable)
        ports.append(OwedPort(port, acs.supported, acs.control, mask, enabled, written & mask))
    return Owed(tuple(ports), tuple(left_out))


def _controls(bits: Iterable[JudgedBit]) -> AcsControl:
    controls = AcsControl(0)
    for bit in bits:
        controls |= bit.requirement.want.control
    return controls


def _check_read(bits: Sequence[JudgedBit]) -> None:
    unread = [bit for bit in bits if bit.finding.state is State.ERROR]
    if unread:
        first = unread[0].finding
        refused = first.code is ExitCode.NOT_PERMITTED
        raise (NotPermittedError if refused else ConfigSpaceError)(
            f"{first.reason}, so what {first.subject.address} is to have is not known",
            hint="" if first.remedy is None else first.remedy.command,
        )
