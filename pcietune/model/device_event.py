"""What udev tells of PCI functions, and the door through which it comes."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from pcietune.address import PciAddress


class Action(StrEnum):
    """What happened to a function (lib/kobject_uevent.c, kobject_actions)."""

    ADD = "add"
    REMOVE = "remove"
    BIND = "bind"
    UNBIND = "unbind"
    CHANGE = "change"


class ErrorEvent(StrEnum):
    """How far the kernel is with recovering from an error (drivers/pci/pci-driver.c)."""

    BEGUN = "BEGIN_RECOVERY"
    SUCCEEDED = "SUCCESSFUL_RECOVERY"
    FAILED = "FAILED_RECOVERY"


@dataclass(frozen=True, slots=True)
class DeviceEvent:
    """One event.

    Attributes:
        address: The function's.
        action: What happened.
        error: Of a change: how far a recovery is; None if it is about none.
    """

    address: PciAddress
    action: Action
    error: ErrorEvent | None = None


@dataclass(frozen=True, slots=True)
class Heard:
    """What came in.

    Attributes:
        events: In the order in which they came.
        lost: Whether the kernel dropped events, so that anything may have happened.
    """

    events: tuple[DeviceEvent, ...] = ()
    lost: bool = False


NOTHING = Heard()


class EventSource(Protocol):
    """Where events come from."""

    def wait(self, timeout_s: float) -> Heard:
        """Return what came in; after ``timeout_s`` seconds, or at a signal, maybe nothing."""
