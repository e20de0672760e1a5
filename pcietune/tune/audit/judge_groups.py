"""Judge the kernel's IOMMU groups; they are read, never computed anew."""

from collections.abc import Sequence

from pcietune.errors import ConfigSpaceError, PcietuneError
from pcietune.model.access import HostAccess
from pcietune.model.fabric import Fabric
from pcietune.model.finding import Finding, Remedy, RemedyKind, State, Subject, Value
from pcietune.model.function import PciFunction
from pcietune.model.not_known import NOT_KNOWN
from pcietune.model.platform import IommuGroup
from pcietune.model.profile import Attach, GroupPolicy
from pcietune.model.severity import Severity
from pcietune.model.switch_group import SwitchGroup
from pcietune.tune.audit.isolation import Opening, reach_each_other, read_openings
from pcietune.tune.iommu_remedies import FORM_ANEW, TURN_ON_IOMMU

SEPARATE = "group.separate"
TOGETHER = "group.together"

_MAY_STAY = (None, NOT_KNOWN, "pcieport", "pci-stub", "vfio-pci")
"""Drivers of a port that leave its group to VFIO (kernel commit c7d469849747), as most do."""

_ALONE = Value("an IOMMU group of its own")
_REGROUP = Remedy(
    RemedyKind.KERNEL_ARGS,
    "groups form at enumeration by SrcValid, ReqRedir, CmpltRedir and UpstreamFwd of every port "
    "up to the root: set those at boot",
)


def judge_groups(
    host: HostAccess, fabric: Fabric, group: SwitchGroup, policy: GroupPolicy, attach: Attach
) -> list[Finding]:
    """Judge the IOMMU groups of a switch group's GPUs and of what its NICs hand to VMs."""
    match policy:
        case GroupPolicy.SEPARATE:
            if attach is not Attach.VF:
                whole = (*group.gpus, *group.nics)
                return [_judge_separate(host, fabric, function) for function in whole]
            gpus = [_judge_separate(host, fabric, gpu) for gpu in group.gpus]
            return gpus + [f for nic in group.nics for f in _judge_virtual(host, fabric, nic)]
        case GroupPolicy.TOGETHER:
            return [_judge_together(host, group)]
        case GroupPolicy.IGNORE:
            return []


def strangers(
    fabric: Fabric, function: PciFunction, group: IommuGroup, *, virtual: bool = False
) -> list[PciFunction | None]:
    """Return the group's members that would have to go to the same VM as ``function``.

    Ports do not count, unless a driver of another kind than pcieport has them, nor do host
    bridges, which do no DMA, nor the other functions of the same slot; but for a virtual function
    those do count, its PF included. Classes are compared whole: an NVSwitch is 0680, and a real
    device. None stands for a member that vanished.
    """

    def harmless(other: PciFunction) -> bool:
        port = other.is_pci_bridge and other.driver in _MAY_STAY
        companion = other.slot == function.slot and not virtual
        return port or other.is_host_bridge or companion

    others = [fabric.functions.get(a) for a in group.members if a != function.address]
    return [other for other in others if other is None or not harmless(other)]


def _judge_virtual(host: HostAccess, fabric: Fabric, nic: PciFunction) -> list[Finding]:
    """Judge a NIC's VFs, each alone: its PF stays with the host, and may share what it likes."""
    try:
        addresses = host.state(nic).virtual_functions
    except PcietuneError as error:
        return [Finding.unread(SEPARATE, Subject.of(nic), _ALONE, error)]
    virtual = [fabric.functions[a] for a in addresses if a in fabric.functions]
    if virtual:
        return [_judge_separate(host, fabric, function) for function in virtual]
    reason = "VMs get its virtual functions, and there are none yet"
    return [_separate(nic, State.NOT_APPLICABLE, Value("no virtual function"), reason)]


def _judge_separate(host: HostAccess, fabric: Fabric, function: PciFunction) -> Finding:
    try:
        state = host.state(function)
    except PcietuneError as error:
        return Finding.unread(SEPARATE, Subject.of(function), _ALONE, error)
    if state.group is NOT_KNOWN:
        return Finding.unread(SEPARATE, Subject.of(function), _ALONE, _not_told(function))
    group = host.platform().group(state.group)
    if group is None:
        return _separate(
            function,
            State.FAIL,
            Value("no IOMMU group"),
            "no IOMMU is on for it, and VFIO takes only what one translates",
            TURN_ON_IOMMU,
        )
    found = Value(f"group {group.number}", str(group.number))
    virtual = state.physical_function is not None
    others = strangers(fabric, function, group, virtual=virtual)
    if not others:
        return _separate(function, State.PASS, found, "")
    names = ", ".join(f"{o.address} ({o.id})" if o else "a vanished function" for o in others)
    reason = f"shares group {group.number} with {names}"
    if _are_kept_apart(host, fabric, function, others):
        reason += " though the ports keep them apart now: the group was formed before"
        return _separate(function, State.FAIL, found, reason, FORM_ANEW)
    return _separate(function, State.FAIL, found, reason, _REGROUP)


def _are_kept_apart(
    host: HostAccess,
    fabric: Fabric,
    function: PciFunction,
    others: Sequence[PciFunction | None],
) -> bool:
    """Return whether live registers of ports keep a function from all the others of its group."""
    present = [other for other in others if other is not None]
    if any(o.is_pci_bridge or not o.ports or o.ports == function.ports for o in present):
        return False  # no port parts them
    found = list(read_openings(host, fabric, [function, *present]))
    openings = [opening for opening in found if isinstance(opening, Opening)]
    return (
        len(present) == len(others)
        and len(openings) == len(found)
        and not any(reach_each_other(openings, function, other) for other in present)
    )


def _not_told(function: PciFunction) -> ConfigSpaceError:
    return ConfigSpaceError(
        f"{function.address}: its IOMMU group is not known: a dump does not tell",
        hint="add a listing of IOMMU groups: find /sys/kernel/iommu_groups -type l",
    )


def _separate(
    function: PciFunction, state: State, found: Value, reason: str, remedy: Remedy | None = None
) -> Finding:
    return Finding(
        SEPARATE,
        Subject.of(function),
        Severity.ERROR,
        state,
        found,
        _ALONE,
        reason,
        remedy,
    )


def _judge_together(host: HostAccess, group: SwitchGroup) -> Finding:
    wanted = Value("one IOMMU group, or none")
    numbers = set()
    for function in (*group.gpus, *group.nics):
        try:
            number = host.state(function).group
        except PcietuneError as error:
            return Finding.unread(TOGETHER, Subject.of(group.top), wanted, error)
        if number is NOT_KNOWN:
            return Finding.unread(TOGETHER, Subject.of(group.top), wanted, _not_told(function))
        numbers.add(number)
    together = len(numbers) == 1
    known = sorted(n for n in numbers if n is not None)
    return Finding(
        TOGETHER,
        Subject.of(group.top),
        Severity.ERROR,
        State.PASS if together else State.FAIL,
        Value(f"groups {', '.join(map(str, known))}" if known else "no IOMMU groups"),
        wanted,
        ""
        if together
        else "NICs and GPUs are in different groups: ports redirected between them when the groups "
        "formed, at enumeration",
        None
        if together
        else Remedy(
            RemedyKind.KERNEL_ARGS,
            "turn redirection off with pci=disable_acs_redir (pcietune kernel-args --mode "
            "baremetal), or the IOMMU where no VM needs it, then reboot",
        ),
    )
