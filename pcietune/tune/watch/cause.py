"""What most likely changed a port's ACS Control: rows of one table, the first that fits.

No event tells of a change of a register. What is known is the word before and after, what udev
told meanwhile, how long the port slept and which errors were counted; and what the kernel writes
when: pci_std_enable_acs() sets SrcValid, ReqRedir, CmpltRedir and UpstreamFwd, as far as they are
offered, and clears nothing (drivers/pci/pci.c).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from pcietune.model.device_event import Action, DeviceEvent, ErrorEvent
from pcietune.registers.acs import AcsControl
from pcietune.tune.vfio_use import ISOLATION
from pcietune.tune.watch.sight import Sight

_BINDS_SET_ACS = (7, 0)


class Cause(StrEnum):
    """Why a word changed, for programs."""

    PCIETUNE = "pcietune"
    ADDED = "added"
    FAILED_RECOVERY = "failed-recovery"
    RECOVERY = "recovery"
    RESUME = "resume"
    BIND = "bind"
    RESET_LEFT = "reset-left"
    RESET = "reset"
    BY_HAND = "by-hand"


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that is known of one change.

    Attributes:
        before: The port as it was seen before.
        after: The port as it is seen now.
        events: What udev told meanwhile of the port and of what is above it.
        kernel: Major and minor number of the kernel's release; None if not known.
        recorded: Controls that the undo record says pcietune left as they are now.
        alone: Whether other ports of the same switch kept their words, which a reset of the switch
            would have taken, too; None if it has no others, or they could not be read.
    """

    before: Sight
    after: Sight
    events: Sequence[DeviceEvent]
    kernel: tuple[int, int] | None
    recorded: AcsControl
    alone: bool | None

    @property
    def changed(self) -> int:
        """The bits that changed, of all 16."""
        return self.before.control ^ self.after.control

    @property
    def only_added(self) -> bool:
        """Whether it only gained controls that the kernel sets."""
        gained = self.after.control & ~self.before.control
        return gained == self.changed and not gained & ~ISOLATION.value


@dataclass(frozen=True, slots=True)
class Row:
    """One cause.

    Attributes:
        cause: Its name.
        fits: Whether the evidence speaks for it.
        text: What is told, as the rest of a sentence that begins with ``likely``.
        source: Who says that this happens.
    """

    cause: Cause
    fits: Callable[[Evidence], bool]
    text: str
    source: str


def likely_cause(evidence: Evidence) -> Row:
    """Return the first row that fits; the last fits always."""
    return next(row for row in ROWS if row.fits(evidence))


def _recorded(evidence: Evidence) -> bool:
    return not evidence.changed & ~evidence.recorded.value


def _action(action: Action) -> Callable[[Evidence], bool]:
    return lambda evidence: any(event.action is action for event in evidence.events)


def _failed(evidence: Evidence) -> bool:
    return any(event.error is ErrorEvent.FAILED for event in evidence.events)


def _by_the_kernel(evidence: Evidence) -> bool:
    """Whether all that the kernel sets is on, or none: without an IOMMU it sets nothing.

    A part of it is left only where pci=config_acs= says so, and then nothing needs repair.
    """
    kernels = (evidence.after.supported & ISOLATION).value
    return evidence.after.control & kernels in (0, kernels)


def _recovered(evidence: Evidence) -> bool:
    before, after = evidence.before.errors, evidence.after.errors
    counted = before is not None and after is not None and after > before
    told = counted or any(event.error is not None for event in evidence.events)
    return told and _by_the_kernel(evidence)


def _slept(evidence: Evidence) -> bool:
    before, after = evidence.before.slept_ms, evidence.after.slept_ms
    longer = before is not None and after is not None and after > before
    return longer and _by_the_kernel(evidence)


def _bound(evidence: Evidence) -> bool:
    """Only the port's own bind matters, and it takes nothing away."""
    own = any(
        event.action is Action.BIND and event.address == evidence.after.port.address
        for event in evidence.events
    )
    return own and evidence.only_added and (evidence.kernel or (0, 0)) >= _BINDS_SET_ACS


def _can_be_reset(evidence: Evidence) -> bool:
    """A root port is reset with the whole host only; and a reset spares no port of a switch."""
    return bool(evidence.after.port.ports) and evidence.alone is not True


ROWS = (
    Row(
        Cause.PCIETUNE,
        _recorded,
        "pcietune itself: apply or the udev hook wrote it, as the undo record says",
        "pcietune/model/undo.py",
    ),
    Row(
        Cause.ADDED,
        _action(Action.ADD),
        "it was removed and found again: the kernel wrote its own words",
        "drivers/pci/pci.c, pci_acs_init and pci_enable_acs at enumeration",
    ),
    Row(
        Cause.FAILED_RECOVERY,
        _failed,
        "recovery from an error failed: ports below were reset, and nobody restored them",
        "drivers/pci/pcie/err.c, pcie_do_recovery: nothing is restored where it fails",
    ),
    Row(
        Cause.RECOVERY,
        _recovered,
        "the kernel recovered from an error: it reset the port and wrote its own words",
        "drivers/pci/pcie/portdrv.c, pcie_portdrv_slot_reset, pci_restore_state",
    ),
    Row(
        Cause.RESUME,
        _slept,
        "the port slept meanwhile: on waking it the kernel wrote its own words",
        "drivers/pci/pci.c, pci_restore_state at runtime resume",
    ),
    Row(
        Cause.BIND,
        _bound,
        "a driver was bound to the port: from 7.0 on the kernel then sets its own bits again",
        "drivers/pci/pci-driver.c, pci_dma_configure calls pci_enable_acs from 7.0 on",
    ),
    Row(
        Cause.RESET_LEFT,
        lambda e: _can_be_reset(e) and not e.after.control,
        "the switch was reset, and nobody restored it",
        "PCIe: ACS Control is 0 after a reset",
    ),
    Row(
        Cause.RESET,
        lambda e: _can_be_reset(e) and e.after.by_the_kernel,
        "the switch was reset and the kernel wrote its own words, or somebody set them by hand",
        "drivers/pci/pci.c, pci_restore_state: no event tells of a reset",
    ),
    Row(
        Cause.BY_HAND,
        lambda _: True,
        "somebody wrote it by hand, as setpci does: no event, sleep, error or reset explains it",
        "drivers/pci/pci-sysfs.c, pci_write_config",
    ),
)
