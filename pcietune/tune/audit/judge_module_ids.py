"""Judge what vfio-pci takes by id as it loads: no unit and no hook can come before that."""

from collections.abc import Collection, Sequence

from pcietune.address import PciAddress
from pcietune.errors import ConfigSpaceError
from pcietune.model.access import HostAccess
from pcietune.model.fabric import Fabric
from pcietune.model.finding import HOST, Finding, Remedy, RemedyKind, State, Subject, Value
from pcietune.model.function import PciFunction
from pcietune.model.owners import Owner, OwnerKind, Owners
from pcietune.model.severity import Severity
from pcietune.tune.audit.module_ids import fits, some, taken

IDS = "owner.vfio-ids"
BUILT_IN = "owner.vfio-built-in"
NEW_ID = "owner.new-id"

_BY_ADDRESS = Value("functions handed over by address, once they are as wanted")
_NOT_SET = "(null)"  # how the kernel prints a driver_override that there is none of
_INSTEAD = (
    "name roles under `vfio: {bind: [...]}` in /etc/pcietune/pcietune.yaml instead: pcietune binds "
    "them by address"
)


def judge_module_ids(
    host: HostAccess, fabric: Fabric, concerned: Collection[PciAddress], owners: Owners
) -> list[Finding]:
    """Return a finding for each way in which functions of the profile are taken by id.

    Args:
        host: The host.
        fabric: Its functions.
        concerned: Those that have a role and serve VMs.
        owners: Who else is at work there.
    """
    by_ids = [owner for owner in owners.found if owner.kind is OwnerKind.MODULE_IDS]
    built_in = [owner for owner in owners.found if owner.kind is OwnerKind.BUILT_IN]
    findings = []
    if by_ids and taken(fabric, concerned, by_ids).ours:
        findings.append(_by_ids(fabric, concerned, by_ids))
    if built_in and taken(fabric, concerned, built_in).ours:
        findings.append(_by_kernel(fabric, concerned, built_in))
    known = [*by_ids, *built_in]
    for address in concerned:
        function = fabric.functions[address]
        if _is_bound_by_nobody_known(host, function, known, owners):
            findings.append(_by_new_id(function))
    return findings


def _by_ids(fabric: Fabric, concerned: Collection[PciAddress], owners: Sequence[Owner]) -> Finding:
    files = [owner.where for owner in owners if owner.where.startswith("/")]
    typed = len(files) < len(owners)
    steps = [f"take ids= out of {', '.join(files)} and make the initramfs anew"] if files else []
    steps += ["take vfio-pci.ids= from the kernel command line and reboot"] if typed else []
    return Finding(
        IDS,
        HOST,
        Severity.WARNING,
        State.FAIL,
        _found(owners),
        _BY_ADDRESS,
        f"vfio-pci takes {_all_taken(fabric, concerned, owners)} as it loads, which no unit can "
        "come after: the initramfs may load it",
        Remedy(
            RemedyKind.KERNEL_ARGS if typed else RemedyKind.SOFTWARE,
            f"{'; '.join(steps)}; {_INSTEAD}",
        ),
    )


def _by_kernel(
    fabric: Fabric, concerned: Collection[PciAddress], owners: Sequence[Owner]
) -> Finding:
    return Finding(
        BUILT_IN,
        HOST,
        Severity.WARNING,
        State.FAIL,
        _found(owners),
        _BY_ADDRESS,
        f"vfio-pci is built into this kernel and takes {_all_taken(fabric, concerned, owners)} "
        "before any program runs",
        Remedy(
            RemedyKind.KERNEL_ARGS,
            "let the kernel set the ports, which comes first: pcietune kernel-args; or take "
            f"vfio-pci.ids= from the kernel command line, reboot, and {_INSTEAD}",
        ),
    )


def _found(owners: Sequence[Owner]) -> Value:
    ids = ",".join(dict.fromkeys(entry for owner in owners for entry in owner.ids))
    return Value(f"ids={ids} ({', '.join(owner.where for owner in owners)})", ids)


def _all_taken(fabric: Fabric, concerned: Collection[PciAddress], owners: Sequence[Owner]) -> str:
    """Return what is taken, and what of it nobody meant: every one of those is named."""
    found = taken(fabric, concerned, owners)
    if not found.others:
        return some(found.ours)
    others = ", ".join(str(function.address) for function in found.others)
    return f"{some(found.ours)}, and {others} too, which the profile does not hand to VMs,"


def _is_bound_by_nobody_known(
    host: HostAccess, function: PciFunction, by_id: Sequence[Owner], owners: Owners
) -> bool:
    """Return whether VFIO has a function that nothing names which could be looked at."""
    try:
        state = host.state(function)
    except ConfigSpaceError:  # it vanished
        return False
    if state.vfio is not True or host.attribute(function, "driver_override") != _NOT_SET:
        return False
    named = any(fits(entry, function) for owner in by_id for entry in owner.ids)
    by_address = any(
        owner.kind is OwnerKind.DRIVERCTL and function.address in owner.addresses
        for owner in owners.found
    )
    return not named and not by_address


def _by_new_id(function: PciFunction) -> Finding:
    return Finding(
        NEW_ID,
        Subject.of(function),
        Severity.WARNING,
        State.FAIL,
        Value(f"{function.driver}, without driver_override"),
        _BY_ADDRESS,
        f"neither driver_override nor an ids= that can be read here names {function.address}: by "
        "new_id, an ids= in the initramfs, or an override that was taken back, at any time",
        Remedy(RemedyKind.SOFTWARE, f"find what writes new_id at boot; {_INSTEAD}"),
    )
