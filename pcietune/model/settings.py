"""What an administrator decided for one host."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum

from pcietune.model.profile import ModeName
from pcietune.model.protection import Protect
from pcietune.model.vfio import VfioPolicy


class Enforce(StrEnum):
    """What may be done unattended, by the boot unit and the udev hook."""

    AUDIT = "audit"  # judge, and write nothing
    APPLY = "apply"


class Tenancy(StrEnum):
    """Whether functions of one switch group may serve several tenants at a time."""

    SINGLE = "single"
    SHARED = "shared"


class VmStart(StrEnum):
    """What is done about a VM that is about to start with functions whose audit fails."""

    TELL = "tell"  # and let it start
    REFUSE = "refuse"


@dataclass(frozen=True, slots=True)
class Waiver:
    """A finding that a site knows of and does not ask for.

    Attributes:
        id: Of the finding.
        subject: A function's address or location, or another path that a finding is about;
            None for all.
        reason: Why.
        ticket: Where that is written down; None if nowhere.
        expires: The last day on which it holds.
    """

    id: str
    subject: str | None
    reason: str
    ticket: str | None
    expires: date


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of one host; a typed ``pcietune apply`` writes whatever ``enforce`` says.

    Attributes:
        profile: Name of the profile to judge by; None if the host is to be matched.
        mode: The host's duty; None if nobody decided, which is never guessed.
        group_modes: The duties of switch groups that differ from it, by the location of their
            topmost upstream port.
        enforce: What may be done unattended.
        tenancy: Whether functions of one switch group may serve several tenants.
        protect: What is to be left alone.
        waivers: Findings that are not asked for.
        vfio: What is handed to VFIO, instead of what the profile says; None to leave it to that.
        vm_start: What is done about a VM that is about to start with functions whose audit fails.
    """

    profile: str | None = None
    mode: ModeName | None = None
    group_modes: Mapping[str, ModeName] = field(default_factory=dict)
    enforce: Enforce = Enforce.AUDIT
    tenancy: Tenancy = Tenancy.SINGLE
    protect: tuple[Protect, ...] = ()
    waivers: tuple[Waiver, ...] = ()
    vfio: VfioPolicy | None = None
    vm_start: VmStart = VmStart.TELL
