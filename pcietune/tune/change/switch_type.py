"""Switch an IOMMU group's type and back, so that the kernel sets ATS Enable by its own rules.

The kernel builds a new default domain and attaches the group's functions to it, and with that
decides on ATS anew (drivers/iommu/iommu.c, iommu_group_store_type).
"""

from contextlib import suppress

from pcietune.errors import InconsistentHostError, InUseError, NotPermittedError, PcietuneError
from pcietune.model.access import HostAccess
from pcietune.model.done import SwitchDone
from pcietune.model.plan import PlannedSwitch
from pcietune.model.undo import GroupTypeChange, UndoStore
from pcietune.registers.ats import ENABLE_MASK


def switch_type(planned: PlannedSwitch, host: HostAccess, undo: UndoStore) -> SwitchDone:
    """Switch a group's type, look at ATS Enable, and leave the type as it was.

    Raises:
        InconsistentHostError: The type could not be put back, which stays recorded.
        InUseError: A driver or VFIO has a function of the group by now; nothing was changed.
        PcietuneError: It could not be done, recorded or looked at; the type is as it was.
    """
    type_now = host.group_type_again(planned.iommu_group)
    if type_now != planned.old:
        raise InUseError(
            f"{planned.function.address}: IOMMU group {planned.iommu_group} is of type {type_now} "
            f"by now, no more {planned.old}"
        )
    entry = planned.undo_entry(type_now)
    undo.begin(entry)
    try:
        host.write_group_type(planned.iommu_group, planned.new)
        enabled = planned.proves and _enabled(planned, host)
    except BaseException:
        _go_back(entry, host)
        _settle(entry, undo)
        raise
    readback = _go_back(entry, host)
    _settle(entry, undo)
    now = _enabled(planned, host)  # which also is what the next look at the register remembers
    return SwitchDone(planned, enabled if planned.proves else now, readback)


def put_type_back(entry: GroupTypeChange, host: HostAccess) -> str:
    """Put a group's type back where it began; return what it reads then.

    Raises:
        InconsistentHostError: The kernel took it, but it reads otherwise.
        PcietuneError: It could not be written.
    """
    found = host.group_type_again(entry.iommu_group)
    if found != entry.old:
        host.write_group_type(entry.iommu_group, entry.old)
        found = host.group_type_again(entry.iommu_group)
    if found != entry.old:
        raise InconsistentHostError(
            f"{entry.address}: the type of IOMMU group {entry.iommu_group} was {entry.old} and "
            f"reads {found}",
            hint=f"echo {entry.old} > /sys/kernel/iommu_groups/{entry.iommu_group}/type",
        )
    return found


def _go_back(entry: GroupTypeChange, host: HostAccess) -> str:
    try:
        return put_type_back(entry, host)
    except InconsistentHostError:
        raise
    except PcietuneError as error:
        raise InconsistentHostError(
            f"{entry.address}: the type of IOMMU group {entry.iommu_group} was {entry.old} and "
            f"cannot be put back: {error}",
            hint="pcietune restore tries again when no driver has it",
        ) from error


def _settle(entry: GroupTypeChange, undo: UndoStore) -> None:
    """Record that the type is as it was; that it is open does no harm where that cannot be kept."""
    with suppress(NotPermittedError):
        undo.settle(entry.group, kept=False)


def _enabled(planned: PlannedSwitch, host: HostAccess) -> bool:
    word = host.config(planned.function).read_word_again(planned.ats_control)
    return bool(word & ENABLE_MASK)
