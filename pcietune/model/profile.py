"""A profile: how to recognise a kind of host, the roles of its functions, what each mode wants.

These are the meanings; the YAML that they are read from is pcietune.host.profiles.file's subject.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from pcietune.model.function import PciFunction
from pcietune.model.role_name import RoleName
from pcietune.model.severity import Severity
from pcietune.model.vfio import NO_BINDING, VfioPolicy
from pcietune.registers.acs import LSPCI_NAMES, AcsControl


class RolePlace(StrEnum):
    """Where a function must sit to have a role."""

    ANY = "any"
    GPU_SWITCH = "gpu-switch"  # below a topmost switch that also carries a GPU


class Attach(StrEnum):
    """What of a function is handed to a VM."""

    PF = "pf"
    VF = "vf"
    MDEV = "mdev"


class ModeName(StrEnum):
    """The two duties of a GPU server."""

    VM = "vm"
    BAREMETAL = "baremetal"


class Place(StrEnum):
    """Places of ports, over all pairs of a switch group's NICs and GPUs; first wins."""

    NIC_SIDE = "nic-side"  # request control ports of the NICs
    GPU_SIDE = "gpu-side"  # completion control ports, at the GPUs
    UPSTREAM = "upstream"  # every other root or downstream port above a NIC or GPU


class AtsPolicy(StrEnum):
    """What a mode wants of the NICs' ATS."""

    ENSURE = "ensure"  # on while a VM uses the NIC; apply makes the kernel prove or heal it
    JUDGE = "judge"  # on while a VM uses the NIC; only judged
    FORCE = "force"  # Enable+ by a raw write, which needs --force-ats too
    KERNEL_OFF = "kernel-off"  # Enable-; only judged
    IGNORE = "ignore"


class IommuPolicy(StrEnum):
    """What a mode wants of the IOMMU."""

    DEVICE_TLB = "device-tlb"  # on, and answering translation requests
    OFF_OR_PASSTHROUGH = "off-or-passthrough"
    IGNORE = "ignore"


class RuntimePmPolicy(StrEnum):
    """What a mode wants of the runtime power management of ports above NICs and GPUs."""

    KEEP_ON = "keep-on"  # apply writes ``on`` to power/control: ports keep their ACS words
    JUDGE = "judge"
    IGNORE = "ignore"


class GroupPolicy(StrEnum):
    """What a mode wants of the IOMMU groups of a switch group's functions."""

    SEPARATE = "separate"  # no NIC or GPU shares one with another device
    TOGETHER = "together"  # each NIC with the GPUs of its switch group, or no groups at all
    IGNORE = "ignore"


Counts = tuple[int, ...]
"""Numbers that are all as wanted; hosts of one kind may differ in them."""


@dataclass(frozen=True, slots=True)
class AcsWant:
    """One ACS control on or off: ``DirectTrans+``."""

    control: AcsControl
    on: bool

    def __str__(self) -> str:
        return f"{LSPCI_NAMES[self.control]}{'+' if self.on else '-'}"


@dataclass(frozen=True, slots=True)
class FunctionPattern:
    """Which functions are meant: one of the ids, and one of the classes where any is given.

    Attributes:
        ids: As lspci -n prints them, with ``*`` for any device: ``10de:20f3``, ``15b3:*``.
        classes: Base class and sub-class, 16 bits, compared whole.
    """

    ids: tuple[str, ...] = ()
    classes: tuple[int, ...] = ()

    def matches(self, function: PciFunction) -> bool:
        """Return whether ``function`` is meant; nothing is by an empty pattern."""
        if not self.ids:
            return function.device_class in self.classes
        if self.classes and function.device_class not in self.classes:
            return False
        function_id = function.id
        return function_id in self.ids or f"{function_id[:4]}:*" in self.ids


@dataclass(frozen=True, slots=True)
class Role:
    """Which functions have a role, by place first, then by id or class.

    Attributes:
        pattern: The functions; a VF has its PF's role, never one of its own.
        place: Where they must sit.
        trusted: Whether they may be believed when they send translated addresses.
        attach: What of them is handed to a VM.
    """

    pattern: FunctionPattern
    place: RolePlace = RolePlace.ANY
    trusted: bool = False
    attach: Attach = Attach.PF


@dataclass(frozen=True, slots=True)
class Match:
    """How a host is recognised: every criterion that is given must hold; one must be given.

    Attributes:
        pattern: A function of this kind is present.
        switch_group: If true, some switch carries a GPU and a NIC (by the profile's roles).
        dmi: Names below /sys/class/dmi/id, each with a shell pattern for its value.
    """

    pattern: FunctionPattern = field(default_factory=FunctionPattern)
    switch_group: bool = False
    dmi: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SwitchGroupLayout:
    """How many switch groups a host of this kind has, and what is in each.

    Attributes:
        count: How many there may be.
        cards: How many cards of each role each of them may have; a role that is missing is not
            counted.
    """

    count: Counts
    cards: Mapping[RoleName, Counts]


@dataclass(frozen=True, slots=True)
class Layout:
    """Counts and shape: judged, and never a reason not to match.

    Attributes:
        cards: How many cards of each role the whole host may have; a role that is missing is not
            counted.
        nic_ports: How many functions of role nic a card may have that has any; empty if open.
        numa_nodes: Over how many NUMA nodes the GPUs and NICs may be spread; empty if open.
        switch_groups: None if the profile leaves the shape open.
    """

    cards: Mapping[RoleName, Counts] = field(default_factory=dict)
    nic_ports: Counts = ()
    numa_nodes: Counts = ()
    switch_groups: SwitchGroupLayout | None = None


@dataclass(frozen=True, slots=True)
class PortRule:
    """What ports of one place owe.

    Attributes:
        set: Controls that pcietune may write.
        require: Controls that it only judges.
    """

    set: tuple[AcsWant, ...] = ()
    require: tuple[AcsWant, ...] = ()


@dataclass(frozen=True, slots=True)
class Mode:
    """What a profile wants of a host in one duty.

    Attributes:
        ports: What ports owe, by their place.
        ats: Of the NICs.
        iommu: Of the units that serve NICs and GPUs.
        groups: Of the IOMMU groups.
        runtime_pm: Of the ports.
        vfio: What is handed to VFIO once all that is so.
    """

    ports: Mapping[Place, PortRule]
    ats: AtsPolicy = AtsPolicy.IGNORE
    iommu: IommuPolicy = IommuPolicy.IGNORE
    groups: GroupPolicy = GroupPolicy.IGNORE
    runtime_pm: RuntimePmPolicy = RuntimePmPolicy.JUDGE
    vfio: VfioPolicy = NO_BINDING


@dataclass(frozen=True, slots=True)
class Profile:
    """One profile.

    Attributes:
        name: Of its file, without the suffix.
        summary: One line for people.
        sha256: Of the file's bytes, and after them those of the files that it extends, in hex:
            what an audit names as its yardstick.
        generic: Whether it counts only where no other profile matches.
        match: How to recognise a host.
        roles: By name.
        layout: Counts and shape.
        modes: By name; a mode that is missing is one that this kind of host cannot be in.
        severities: By finding id: what this kind of host makes of a failure instead of what
            pcietune does.
    """

    name: str
    summary: str
    sha256: str
    generic: bool
    match: Match
    roles: Mapping[RoleName, Role]
    layout: Layout
    modes: Mapping[ModeName, Mode]
    severities: Mapping[str, Severity] = field(default_factory=dict)
