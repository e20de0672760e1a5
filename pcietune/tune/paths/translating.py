"""Whether a function sends translated requests: its ATS from the capability to Enable."""

from dataclasses import dataclass

from pcietune.errors import PcietuneError
from pcietune.model.access import HostAccess
from pcietune.model.fabric import Fabric
from pcietune.model.finding import Remedy, State
from pcietune.model.function import FunctionState, PciFunction
from pcietune.model.profile import AtsPolicy
from pcietune.registers.ats import Ats
from pcietune.tune.ats.broken import broken_ats
from pcietune.tune.ats.capability import may_have_in_firmware, without_capability
from pcietune.tune.ats.causes import hindrance_beside_ports
from pcietune.tune.ats.kernel import judge_by_kernel
from pcietune.tune.ats.subject import AtsSubject
from pcietune.tune.iommu_remedies import TURN_ON_IOMMU

_NO_CAPABILITY = "it has no ATS capability"


@dataclass(frozen=True, slots=True)
class Translating:
    """Whether a function sends translated requests.

    Attributes:
        on: Whether; None if not known.
        why: On what that stands, in half a sentence.
        remedy: What mends it; None if nothing is to be mended, or nothing can.
        problem: What kept registers from being read; None if nothing did.
    """

    on: bool | None
    why: str
    remedy: Remedy | None = None
    problem: PcietuneError | None = None


def translating(
    host: HostAccess, fabric: Fabric, function: PciFunction, state: FunctionState, *, guest: bool
) -> Translating:
    """Return whether a function sends translated requests now.

    A port above it that blocks them (TransBlk) does not count here: the route meets it.

    Args:
        host: Where registers come from.
        fabric: The host's functions.
        function: It.
        state: What sysfs says of it.
        guest: Whether it is looked at as a VM has it: then the kernel turns its ATS on when VFIO
            attaches it, if nothing is in the way.
    """
    try:
        ats = Ats.find(host.config(function))
        if ats is None:
            missing = without_capability(fabric, function, state)
            return Translating(on=False, why=_NO_CAPABILITY, remedy=missing.remedy)
        if (quirk := broken_ats(host, function)) is not None:
            return Translating(on=False, why=f"its ATS is not to be used: {quirk.says}")
        if not (guest or ats.enabled):
            return Translating(on=False, why="its ATS is off (Enable-)")
        return _by_kernel(AtsSubject(host, fabric, function, state, ats), guest=guest)
    except PcietuneError as error:
        return _unread(function, error)


def mended(host: HostAccess, fabric: Fabric, function: PciFunction, *, nic: bool) -> Translating:
    """Return whether a function sends translated requests in a VM once nothing is in the way.

    Args:
        host: Where registers come from.
        fabric: The host's functions.
        function: It.
        nic: Whether it is a NIC, whose firmware may have ATS switched off.
    """
    try:
        if (quirk := broken_ats(host, function)) is not None:
            return Translating(on=False, why=f"its ATS is not to be used: {quirk.says}")
        if Ats.find(host.config(function)) is not None:
            return Translating(on=True, why="the kernel turns its ATS on when a VM takes it")
    except PcietuneError as error:
        return _unread(function, error)
    given = may_have_in_firmware(fabric, function) if nic else False
    if given is None:
        return Translating(
            on=None, why=f"{_NO_CAPABILITY}, and whether its firmware can give it one is not known"
        )
    if given:
        return Translating(on=True, why="once its firmware has ATS on")
    return Translating(on=False, why=_NO_CAPABILITY)


def _unread(function: PciFunction, error: PcietuneError) -> Translating:
    why = str(error).removeprefix(f"{function.address}: ")
    return Translating(on=None, why=f"its ATS could not be read: {why}", problem=error)


def _by_kernel(subject: AtsSubject, *, guest: bool) -> Translating:
    """Return what the kernel makes of a capability that works."""
    enabled = subject.ats.enabled
    cause = hindrance_beside_ports(subject)
    if cause is not None:
        why = f"its ATS is on, but of no use: {cause.reason}" if enabled else cause.reason
        return Translating(on=False, why=why, remedy=cause.remedy)
    if subject.state.group is None:
        why = "no IOMMU is on for it that answers translation requests"
        return Translating(on=False, why=why, remedy=TURN_ON_IOMMU)
    if guest and enabled:
        return Translating(on=True, why="its ATS is on (Enable+)")
    verdict = judge_by_kernel(subject, AtsPolicy.JUDGE, proved=False)
    if verdict.state is State.PENDING and guest:
        return Translating(on=True, why=f"its ATS is off yet, {verdict.reason}")
    known = {State.PASS: True, State.FAIL: False}.get(verdict.state)
    why = f"its ATS is {verdict.reason or 'on (Enable+)'}"
    return Translating(known, why, None if known else verdict.remedy)
