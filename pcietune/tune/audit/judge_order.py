"""Judge whether VFIO got the profile's functions only after the ports above were as wanted."""

from collections.abc import Iterable, Mapping

from pcietune.address import PciAddress
from pcietune.errors import ConfigSpaceError
from pcietune.model.access import HostAccess
from pcietune.model.fabric import Fabric
from pcietune.model.finding import UNKNOWN, Finding, Remedy, RemedyKind, State, Subject, Value
from pcietune.model.function import FunctionState, PciFunction
from pcietune.model.owners import Owner, OwnerKind, Owners
from pcietune.model.severity import Severity
from pcietune.model.stamp import Stamp
from pcietune.tune.audit.module_ids import fits

ID = "vfio.order"

_WANTED = Value("bound to VFIO once the ports above were as wanted", "after")
_BEFORE = Value("bound to VFIO before the settings were in place", "before")
_KERNEL_FIRST = Remedy(
    RemedyKind.KERNEL_ARGS,
    "pcietune kernel-args says what makes the kernel itself set the ports, before any driver",
)


def judge_order(
    host: HostAccess,
    fabric: Fabric,
    concerned: Iterable[PciAddress],
    stamps: Mapping[str, Stamp],
    owners: Owners | None,
) -> list[Finding]:
    """Judge each function and VF that a VFIO driver has; none where apply did not run in this boot.

    Args:
        host: The host.
        fabric: Its functions.
        concerned: Those that have a role and serve VMs.
        stamps: What was verified in this boot, by address.
        owners: Who else is at work there; None if that is not known.
    """
    if not stamps:
        return []
    findings = []
    for address in concerned:
        function = fabric.functions[address]
        state = _state(host, function)
        if state is None:
            continue
        if state.vfio is True:
            findings.append(_judge(function, _stamp(function, stamps), owners))
        for each in state.virtual_functions:  # nobody promises a stamp to every VF
            virtual = fabric.functions.get(each)
            stamp = None if virtual is None else _stamp(virtual, stamps)
            if virtual is not None and stamp is not None and _has_vfio(host, virtual):
                findings.append(_judge(virtual, stamp, owners))
    return findings


def _has_vfio(host: HostAccess, function: PciFunction) -> bool:
    state = _state(host, function)
    return state is not None and state.vfio is True


def _state(host: HostAccess, function: PciFunction) -> FunctionState | None:
    """Return a function's state; None if it vanished."""
    try:
        return host.state(function)
    except ConfigSpaceError:
        return None


def _stamp(function: PciFunction, stamps: Mapping[str, Stamp]) -> Stamp | None:
    """Return a function's stamp; that of another, which sat there before, is none."""
    stamp = stamps.get(str(function.address))
    own = (function.location, function.id)
    return stamp if stamp is not None and (stamp.location, stamp.id) == own else None


def _judge(function: PciFunction, stamp: Stamp | None, owners: Owners | None) -> Finding:
    subject = Subject.of(function)
    if stamp is not None and stamp.bound_before is False:
        return Finding(ID, subject, Severity.WARNING, State.PASS, _WANTED, _WANTED, "")
    if stamp is not None and stamp.bound_before is None:
        reason = "whether VFIO had it when the ports were seen as wanted could not be told then"
        return Finding(ID, subject, Severity.WARNING, State.ERROR, UNKNOWN, _WANTED, reason)
    why = _why(function, owners)
    if stamp is None:
        seen = "VFIO has it, and the ports above were not seen as wanted in this boot"
    else:
        seen = "VFIO had it already when the ports above were first seen as wanted"
    reason = f"{seen}: {why}"
    # Ports that are not as wanted by now fail by themselves: this tells only the order.
    severity = Severity.INFO
    return Finding(ID, subject, severity, State.FAIL, _BEFORE, _WANTED, reason, _KERNEL_FIRST)


def _why(function: PciFunction, owners: Owners | None) -> str:
    """Return what gave it to VFIO that early, as far as that can be told."""
    found = () if owners is None else owners.found
    kinds = {owner.kind: owner for owner in found if _names(owner, function)}
    if OwnerKind.BUILT_IN in kinds:
        return "vfio-pci is built into the kernel, and vfio-pci.ids= names it"
    if OwnerKind.MODULE_IDS in kinds:
        where = kinds[OwnerKind.MODULE_IDS].where
        return f"{where} names its id, and vfio-pci takes it as it loads, maybe in the initramfs"
    if OwnerKind.DRIVERCTL in kinds:
        return "driverctl bound it, which pcietune-apply.service comes before where it is enabled"
    return "something bound it in the initramfs, by new_id, or by hand"


def _names(owner: Owner, function: PciFunction) -> bool:
    return function.address in owner.addresses or any(fits(entry, function) for entry in owner.ids)
