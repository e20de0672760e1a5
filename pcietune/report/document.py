"""The one JSON document that status, audit, plan, apply, restore and vfio print.

It changes only together with ``SCHEMA``, and its JSON Schema is made from these Structs. There are
no times in it, so that two runs over the same host differ in nothing.
"""

from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from pcietune.model.binding import BindState
from pcietune.model.finding import RemedyKind, State
from pcietune.model.platform import Lockdown
from pcietune.model.profile import ModeName
from pcietune.model.role_name import RoleName
from pcietune.model.settings import Enforce
from pcietune.model.severity import Severity
from pcietune.tune.change.channels import ChannelState

SCHEMA: Final = 1

Location = Annotated[
    str, Meta(description="as the kernel's pci= options take it, which survives renumbering")
]
Address = Annotated[str | None, Meta(description="of a function, domain first; null if it is none")]


class Part(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """What all parts of the document have in common: every key is there, and no other."""


class HostDocument(Part):
    """The host; null where a value could not be read."""

    dmi: Annotated[dict[str, str], Meta(description="what /sys/class/dmi/id says, by name")]
    kernel: str | None
    boot_id: str | None
    lockdown: Lockdown
    cmdline: str | None


class ProfileDocument(Part):
    """The yardstick, and why it is the one."""

    name: str
    sha256: Annotated[str, Meta(description="of the profile's file")]
    why: list[str]


class ChannelDocument(Part):
    """One way to change something."""

    state: ChannelState
    reason: str


class ProtectedDocument(Part):
    """What is never touched."""

    functions: Annotated[dict[str, str], Meta(description="why, by address")]
    not_known: Annotated[
        list[str], Meta(description="what the host stands on and could not be found out")
    ]


class ValueDocument(Part):
    """Something found or wanted."""

    text: Annotated[str, Meta(description="for people")]
    value: Annotated[
        str | None, Meta(description="a register's word, a number or a word; null if not known")
    ]
    bits: Annotated[
        list[str] | None, Meta(description="of a register, as lspci spells them; else null")
    ]


class SubjectDocument(Part):
    """What something is about; address and id are null if it is no function."""

    path: Annotated[
        str, Meta(description="a function's location, `host`, or the name of something else")
    ]
    address: Address
    id: Annotated[str | None, Meta(description="vendor and device")]


class RemedyDocument(Part):
    """What to do."""

    kind: RemedyKind
    command: Annotated[str, Meta(description="what to run, or a sentence where no command does it")]


class WaiverDocument(Part):
    """Why a site does not ask for something."""

    reason: str
    ticket: str | None
    expires: Annotated[
        str,
        Meta(pattern=r"^\d{4}-\d{2}-\d{2}$", description="the last day on which the waiver holds"),
    ]


class FindingDocument(Part):
    """One wanted fact, judged."""

    id: Annotated[str, Meta(description="stable; pcietune explain tells what it means")]
    subject: SubjectDocument
    severity: Annotated[Severity, Meta(description="info never makes a host differ")]
    state: Annotated[
        State,
        Meta(
            description="pending: comes when the gate binds a function, or VFIO attaches it; "
            "error: could not be read; skip: waived or not asked for"
        ),
    ]
    found: ValueDocument
    wanted: ValueDocument
    reason: str
    remedy: RemedyDocument | None
    waiver: WaiverDocument | None


class WriteDocument(Part):
    """One write. Words of registers are hex with the register's width.

    An IOMMU group's type is switched for a moment: ``new`` is what it is then, ``readback`` what
    it is in the end.
    """

    path: Location
    address: str
    register: str
    offset: Annotated[str | None, Meta(description="null of a sysfs attribute")]
    old: str
    mask: Annotated[str | None, Meta(description="null of a sysfs attribute")]
    new: str
    readback: Annotated[str | None, Meta(description="null in a plan")]


class ResidualDocument(Part):
    """What is not as wanted, and pcietune does not mend in this run."""

    path: Location
    address: Address
    what: str
    reason: str


class HookDocument(Part):
    """What the udev hook is told to do when a function is added."""

    enforce: Annotated[bool, Meta(description="whether it may write, or only judges")]
    sha256: Annotated[str, Meta(description="of the policy")]
    functions: Annotated[list[str], Meta(description="locations of those that it acts on")]
    stamped: Annotated[
        list[str], Meta(description="addresses of those above which all ports are as wanted")
    ]


class BindingDocument(Part):
    """A function that VFIO has, or is to get; null where something is not known or not there."""

    path: Location
    address: str
    id: str
    role: RoleName | None
    wanted: Annotated[bool, Meta(description="whether vfio.bind or the command line names it")]
    driver: str | None
    override: Annotated[str | None, Meta(description="what driver_override holds")]
    vfio_driver: Annotated[str, Meta(description="what has it, or would get it")]
    group: Annotated[int | None, Meta(description="number of its IOMMU group")]
    state: BindState
    why: Annotated[list[str], Meta(description="what blocks it, or another remark")]
    steps: Annotated[list[str], Meta(description="what was done, or would be, as shell commands")]
    not_known: Annotated[list[str], Meta(description="which keys are null for that reason")]


class ErrorDocument(Part):
    """What ended the run, or a switch group, early."""

    message: str
    hint: str


class Document(Part):
    """One run of pcietune status, audit, plan, apply, restore or vfio."""

    schema: Annotated[Literal[1], Meta(description="changes whenever the document's keys do")]
    pcietune: Annotated[str, Meta(description="version of the program")]
    host: HostDocument | None
    profile: ProfileDocument | None
    mode: Annotated[ModeName | None, Meta(description="the host's duty")]
    group_modes: Annotated[
        dict[str, ModeName], Meta(description="switch groups whose duty differs, by location")
    ]
    enforce: Annotated[Enforce | None, Meta(description="what may be done unattended")]
    unattended: Annotated[
        bool, Meta(description="whether enforce bound this run, as it does where nobody typed it")
    ]
    channels: dict[str, ChannelDocument]
    protected: ProtectedDocument | None
    findings: Annotated[
        list[FindingDocument], Meta(description="sorted by the subject's path, then id")
    ]
    writes: Annotated[
        list[WriteDocument], Meta(description="that were made; of a plan, that would be")
    ]
    deferred: Annotated[
        list[ResidualDocument], Meta(description="what waits until VFIO is done with a function")
    ]
    residual: list[ResidualDocument]
    hook: Annotated[
        HookDocument | None, Meta(description="what apply left for udev; null of other commands")
    ]
    bindings: Annotated[
        list[BindingDocument], Meta(description="of vfio, and of apply where vfio.bind names any")
    ]
    changed: Annotated[bool, Meta(description="whether anything differs now because of this run")]
    disabled: Annotated[str | None, Meta(description="why pcietune is switched off here")]
    guard: Annotated[
        str | None,
        Meta(description="why nothing is written unattended in this boot, whatever enforce says"),
    ]
    reboot_required: bool
    power_cycle_required: bool
    errors: list[ErrorDocument]
    exit: Annotated[int, Meta(description="the exit code")]
