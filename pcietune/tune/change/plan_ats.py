"""Plan what is done about NICs' ATS: mostly by the kernel, when a group's type is switched.

With a driver anywhere in the group the kernel refuses the switch (drivers/iommu/iommu.c,
iommu_group_store_type); under one in use it would take the mappings away.
"""

from pcietune.model.access import HostAccess
from pcietune.model.finding import State
from pcietune.model.function import PciFunction
from pcietune.model.plan import PlannedSwitch, PlannedWrite
from pcietune.registers.ats import Ats
from pcietune.tune.ats.action import AtsAction
from pcietune.tune.ats.judge_ats import JudgedAts
from pcietune.tune.audit.audit import Audit
from pcietune.tune.change.draft import Draft
from pcietune.tune.vfio_use import why_in_use

REGISTER = "ATSCtl"
RISK = (
    "Enable set behind the kernel's back: no invalidations are sent to this function, so that after"
    " an unmap it may read and write memory that is somebody else's by then; where the IOMMU does "
    "not allow it, its requests fault"
)

_WANTS = ("Enable+",)
_IDENTITY = "identity"
_TRANSLATING = ("DMA", "DMA-FQ")
_PORT_DRIVER = "pcieport"  # does no DMA of its own: driver_managed_dma, commit c7d469849747
_NO_KERNEL = "a recorded host has no kernel to switch its IOMMU group's type"
_OPEN = (State.FAIL, State.PENDING)  # a finding that is waived or passes is left alone


def ats_drafts(host: HostAccess, audited: Audit, *, force_ats: bool) -> list[Draft]:
    """Return what apply may do about the NICs' ATS, and what keeps it from that.

    Args:
        host: Where it was audited.
        audited: What was found there; each NIC's registers could be read.
        force_ats: Whether the raw write that a profile asks for is asked for here, too.
    """
    drafts = []
    for judged in audited.ats:
        if judged.action is None or judged.finding.state not in _OPEN:
            continue
        ats = Ats.find(host.config(judged.function))
        if ats is None:
            continue
        if judged.action is AtsAction.FORCE:
            drafts.append(_force(host, judged, ats, force_ats=force_ats))
        else:
            drafts += _switch(host, audited, judged, ats)
    return drafts


def _force(host: HostAccess, judged: JudgedAts, ats: Ats, *, force_ats: bool) -> Draft:
    function = judged.function
    planned = PlannedWrite(
        group=judged.group,
        function=function,
        register=REGISTER,
        old=ats.control,
        write=ats.write_enable(),
        wants=_WANTS,
        finding_ids=(judged.finding.id,),
        watched=(function,),
        unbound=True,
        risk=RISK,
    )
    return Draft(planned, refused=_why_not_forced(host, function, force_ats=force_ats))


def _why_not_forced(host: HostAccess, function: PciFunction, *, force_ats: bool) -> str | None:
    state = host.state(function)
    unit = host.platform().iommu_units.get(state.iommu_unit or "")
    if state.physical_function is not None:
        return "ATS of a virtual function is never written: its physical function's STU holds"
    if state.vfio:
        return "it is bound to a VFIO driver: the kernel turns ATS on when a VM takes it"
    if state.group is None or (unit is not None and unit.device_tlb is False):
        return "no IOMMU would answer its translation requests"
    if not force_ats:
        return f"the profile wants it, but --force-ats must, too; {RISK}"
    return None


def _switch(host: HostAccess, audited: Audit, judged: JudgedAts, ats: Ats) -> list[Draft]:
    """Return one draft; none where the kernel shows no group or no type to come back to."""
    function = judged.function
    group = host.platform().group(host.state(function).group)
    if group is None or group.type not in (_IDENTITY, *_TRANSLATING):
        return []
    planned = PlannedSwitch(
        group=judged.group,
        function=function,
        iommu_group=group.number,
        old=group.type,
        new=_TRANSLATING[0] if group.type == _IDENTITY else _IDENTITY,
        ats_control=ats.control_offset,
        wants=_WANTS,
        finding_ids=(judged.finding.id,),
    )
    members = [audited.fabric.functions.get(address) for address in group.members]
    known = [member for member in members if member is not None]
    if len(known) < len(members):
        return [Draft(planned, refused=f"IOMMU group {group.number} has unknown members")]
    drivers = [m for m in known if m.driver not in (None, _PORT_DRIVER)]
    if drivers:
        wait = why_in_use(host, known)
        reason = ", ".join(f"{m.address} is bound to {m.driver}" for m in drivers)
        return [Draft(planned, refused=None if wait else reason, deferred=wait)]
    return [Draft(planned, beyond=_NO_KERNEL if host.recorded else None)]
