"""Why one function can be given to no VM."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from pcietune.address import PciAddress
from pcietune.guest.stock.beside import Beside
from pcietune.guest.stock.reading import state_of
from pcietune.guest.wish import Mig, Wish
from pcietune.model.access import HostAccess
from pcietune.model.function import FunctionState, PciFunction
from pcietune.model.hold import Hold, HoldKind
from pcietune.model.profile import Attach, ModeName
from pcietune.model.role_name import RoleName
from pcietune.model.severity import Severity
from pcietune.tune.audit.audit import Audit
from pcietune.tune.audit.concerning import standing_against
from pcietune.tune.audit.handed_over import duty_of

ONLY_VFS = "VMs get its virtual functions, not itself"
"""Of a physical function whose profile says ``attach: vf``."""

ALLOW_FAILING = "--allow-failing"
SHARE_SWITCHES = "--share-switches"
MODE_VM = "--mode vm"
"""Options that let a function be given in spite of findings, of a neighbour, or of its duty."""

_OWN_BUSINESS = ("isolation.shared-switch", "vfio.binding")
"""Findings that a plan itself minds: with whom a switch is shared, and what VFIO has to get yet."""


@dataclass(frozen=True, slots=True)
class Judges:
    """All that decides whether a function can be given.

    Attributes:
        host: The host.
        audited: How it is judged.
        beside: What is known beside.
        taken: By function the name of the other VM whose plan has it.
        wish: What is wanted of the VM.
    """

    host: HostAccess
    audited: Audit
    beside: Beside
    taken: Mapping[PciAddress, str]
    wish: Wish


def refusals(
    judges: Judges, function: PciFunction, state: FunctionState, role: RoleName | None
) -> Iterator[str]:
    """Yield what keeps a function from every VM, but for findings; each a phrase about it.

    Args:
        judges: What decides.
        function: Which.
        state: What sysfs says of it.
        role: Its own or, of a VF, its PF's; None of a companion.
    """
    audited, address = judges.audited, function.address
    protected = audited.protection.why.get(address)
    if protected is not None:
        yield f"is protected: {protected}"
    if role is RoleName.DPU:
        yield "is a DPU"
    duty = duty_of(audited.fabric, audited.yardstick, function)
    if duty is not ModeName.VM:
        yield f"its duty is {duty}"
    if address in judges.taken:
        yield f"{judges.taken[address]} has it"
    if state.vfio is None:
        yield "whether a VM has it is not known: a dump does not tell"
    elif state.in_use_by_vfio:
        yield f"in use by {judges.beside.users.get(address, 'VFIO')}"
    if judges.wish.mig.get(address) is Mig.ON:
        yield "MIG is on: nvidia-smi --multi-instance-gpu 0, while NVIDIA's driver has it"
    if state.physical_function is not None:
        yield from _of_its_physical_function(judges, state.physical_function)
    elif role is not None:
        yield from _as_a_whole(judges, function, state, audited.profile.roles[role].attach)
    yield from (hold.text for hold in _holds(judges, function, state) if not _untold(judges, hold))


def findings_against(judges: Judges, function: PciFunction) -> Iterator[str]:
    """Yield what of the audit fails or could not be read, and concerns a function."""
    severities = (Severity.ERROR, Severity.WARNING)
    findings = judges.audited.findings
    for finding in standing_against(judges.host, findings, function, severities):
        if finding.id not in _OWN_BUSINESS:
            about = finding.subject.address
            where = "" if about == function.address else f" of {about or finding.subject.path}"
            yield f"{finding.id}{where} is not as wanted: {finding.found.text}"


def unsure_of(judges: Judges, function: PciFunction, state: FunctionState) -> Iterator[str]:
    """Yield what of a function's use a recording does not tell."""
    for hold in _holds(judges, function, state):
        if _untold(judges, hold):
            yield f"{function.address}: {hold.text}"


def _as_a_whole(
    judges: Judges, function: PciFunction, state: FunctionState, attach: Attach
) -> Iterator[str]:
    """Yield what keeps a physical function itself from a VM."""
    mdevs = judges.beside.mdevs.get(function.address, ())
    virtual = len(state.virtual_functions)
    match attach:
        case Attach.VF:
            yield ONLY_VFS
        case Attach.MDEV:
            yield "VMs get its mediated devices, not itself"
        case Attach.PF:
            pass
    if virtual:
        yield f"has {_counted(virtual, 'virtual function')} on, with which vfio-pci refuses it"
    if mdevs:
        yield f"has {_counted(len(mdevs), 'mediated device')}"


def _of_its_physical_function(judges: Judges, address: PciAddress) -> Iterator[str]:
    """Yield what keeps a virtual function from a VM because of who has its physical function.

    Where that has a VFIO driver, too, vfio-pci opens the virtual function only to who tells the
    token (drivers/vfio/pci/vfio_pci_core.c, vfio_pci_validate_vf_token), which no plan has.
    """
    if address in judges.taken:
        yield f"{judges.taken[address]} has its physical function {address}"
    physical = judges.audited.fabric.functions.get(address)
    state = None if physical is None else state_of(judges.host, physical)
    if state is not None and state.vfio:
        yield f"VFIO has its physical function {address}, too, and asks for a token"


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _holds(judges: Judges, function: PciFunction, state: FunctionState) -> Iterable[Hold]:
    """Return what the host's software has of a function that VFIO does not have; VFs aside."""
    if state.vfio is not False:
        return ()
    return (hold for hold in judges.beside.holds(function) if hold.kind is not HoldKind.VFS)


def _untold(judges: Judges, hold: Hold) -> bool:
    return judges.host.recorded and hold.kind is HoldKind.NOT_KNOWN
