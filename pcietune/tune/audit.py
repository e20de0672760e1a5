"""Judge a host by a profile in a mode."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from pcietune.address import PciAddress
from pcietune.errors import BadInputError, ExitCode, NotPermittedError
from pcietune.model.access import HostAccess
from pcietune.model.ats_proof import AtsProof
from pcietune.model.fabric import Fabric
from pcietune.model.finding import HOST, Finding, Remedy, RemedyKind, State, Subject, Value
from pcietune.model.function import PciFunction
from pcietune.model.profile import Mode, ModeName, Profile, RoleName
from pcietune.model.severity import Severity
from pcietune.model.switch_group import SwitchGroup, switch_groups
from pcietune.model.undo import UndoRecord
from pcietune.model.yardstick import Yardstick
from pcietune.tune.judge_aer import judge_aer
from pcietune.tune.judge_ats import AtsWanted, JudgedAts, judge_ats
from pcietune.tune.judge_bars import judge_bars
from pcietune.tune.judge_device_control import judge_device_control
from pcietune.tune.judge_groups import judge_groups
from pcietune.tune.judge_iommu import judge_iommu
from pcietune.tune.judge_isolation import judge_isolation
from pcietune.tune.judge_kernel import judge_kernel
from pcietune.tune.judge_layout import judge_layout
from pcietune.tune.judge_link import judge_links
from pcietune.tune.judge_numa import judge_numa
from pcietune.tune.judge_port_types import judge_port_types
from pcietune.tune.judge_ports import JudgedBit, judge_ports
from pcietune.tune.judge_redirection import judge_redirection
from pcietune.tune.judge_runtime_pm import JudgedPower, judge_runtime_pm
from pcietune.tune.judge_tenancy import judge_tenancy
from pcietune.tune.kernel_words import with_kernel_words
from pcietune.tune.port_requirements import port_requirements
from pcietune.tune.roles import assign_roles
from pcietune.tune.select import select, selected_paths
from pcietune.tune.waive import judge_waivers, waive

UNFINISHED = "apply.unfinished"

_ALL_ENDED = Value("every change finished or undone")


@dataclass(frozen=True, slots=True)
class Memory:
    """What earlier runs of this boot left.

    Attributes:
        record: Their changes; None if there are none, and the error if this user may not look.
        proofs: Functions whose ATS the kernel was seen to enable.
    """

    record: UndoRecord | NotPermittedError | None = None
    proofs: frozenset[AtsProof] = frozenset()


NO_MEMORY = Memory()


@dataclass(frozen=True, slots=True)
class Audit:
    """A host, judged.

    Attributes:
        yardstick: What it was judged by.
        fabric: The host's functions.
        roles: Which of them has which role.
        groups: The host's switch groups.
        bits: What the ports owe, and how that was judged.
        ats: The ATS of what the NICs hand to VMs, and what apply may do about it.
        power: The ports' runtime power management.
        findings: Everything that was judged, what stands above included, by location and id.
    """

    yardstick: Yardstick
    fabric: Fabric
    roles: Mapping[PciAddress, RoleName]
    groups: tuple[SwitchGroup, ...]
    bits: tuple[JudgedBit, ...]
    ats: tuple[JudgedAts, ...]
    power: tuple[JudgedPower, ...]
    findings: tuple[Finding, ...]

    @property
    def profile(self) -> Profile:
        """The profile that it was judged by."""
        return self.yardstick.profile

    @property
    def mode(self) -> ModeName:
        """The host's duty."""
        return self.yardstick.mode

    def exit_code(self, *, strict: bool = False) -> ExitCode:
        """Return the exit code that the findings ask for; strict counts pending ones."""
        return ExitCode.of_several([f.exit_code(strict=strict) for f in self.findings])


def audit(
    host: HostAccess, fabric: Fabric, yardstick: Yardstick, memory: Memory = NO_MEMORY
) -> Audit:
    """Judge ``host``.

    Args:
        host: Where facts and registers come from.
        fabric: Its functions, with port types for all bridges above the profile's functions.
        yardstick: What it is judged by.
        memory: What earlier runs of this boot left.

    Raises:
        BadInputError: The profile does not have a mode, or contradicts itself on this host, which
            may also lack a switch group or function that the yardstick names.
    """
    profile = yardstick.profile
    roles = assign_roles(profile, fabric, host)
    groups = switch_groups(fabric, roles, profile)
    _check_group_modes(yardstick, groups)
    paths = selected_paths(yardstick.selection, fabric)
    asked = partial(waive, waivers=yardstick.waivers, today=yardstick.today)
    host_mode = _mode(profile, yardstick.mode)
    bits: list[JudgedBit] = []
    ats: list[JudgedAts] = []
    power: list[JudgedPower] = []
    findings = judge_layout(profile.layout, roles, groups)
    findings += judge_numa(host, groups)
    findings += judge_kernel(host)
    findings += judge_iommu(host, _peers(fabric, roles), groups, host_mode.iommu)
    for group in groups:
        name = yardstick.mode_of(group.name)
        wanted = _mode(profile, name)
        findings += judge_port_types(host, fabric, group)
        bits += judge_ports(host, fabric, port_requirements(group, name, wanted))
        ats += judge_ats(
            host,
            fabric,
            group,
            AtsWanted(wanted.ats, profile.roles[RoleName.NIC].attach, memory.proofs),
        )
        findings += judge_groups(host, fabric, group, wanted.groups)
        findings += judge_isolation(host, fabric, group)
        findings += judge_tenancy(group, name, yardstick.tenancy)
        findings += judge_links(host, fabric, group)
        findings += judge_device_control(host, fabric, group)
        findings += judge_bars(host, group)
        power += judge_runtime_pm(host, group, wanted.runtime_pm)
        findings += judge_aer(host, group)
    bits = with_kernel_words([replace(bit, finding=asked(bit.finding)) for bit in bits])
    ats = [replace(judged, finding=asked(judged.finding)) for judged in ats]
    power = [replace(judged, finding=asked(judged.finding)) for judged in power]
    findings += [bit.finding for bit in bits]
    findings += [judged.finding for judged in ats]
    findings += [judged.finding for judged in power]
    if yardstick.mode is ModeName.BAREMETAL:
        findings += judge_redirection(groups, bits)
    findings += _unfinished(memory.record, yardstick.mode)
    findings = [asked(finding) for finding in findings]
    findings += judge_waivers(findings, yardstick.waivers, yardstick.today)
    findings = [_weighed(finding, profile) for finding in findings]
    findings = select(findings, yardstick.selection, paths)
    return Audit(
        yardstick=yardstick,
        fabric=fabric,
        roles=roles,
        groups=groups,
        bits=tuple(bits),
        ats=tuple(ats),
        power=tuple(power),
        findings=tuple(sorted(findings, key=lambda f: f.order)),
    )


def _mode(profile: Profile, name: ModeName) -> Mode:
    """Return what the profile wants of a host in a mode.

    Raises:
        BadInputError: It does not have the mode.
    """
    wanted = profile.modes.get(name)
    if wanted is None:
        raise BadInputError(
            f"profile {profile.name} has no mode {name}", hint=f"it has {', '.join(profile.modes)}"
        )
    return wanted


def _check_group_modes(yardstick: Yardstick, groups: Sequence[SwitchGroup]) -> None:
    """Do nothing if every switch group that has a mode of its own is one of this host.

    Raises:
        BadInputError: One is not, so that some group would be judged by the wrong mode.
    """
    names = [group.name for group in groups]
    for name in yardstick.group_modes:
        if name not in names:
            raise BadInputError(
                f"{name} has a mode, but is no switch group of this host",
                hint=f"its switch groups are {', '.join(names) or 'none'}",
            )


def _weighed(finding: Finding, profile: Profile) -> Finding:
    """Return the finding with the severity that the profile gives it, if any."""
    severity = profile.severities.get(finding.id, finding.severity)
    return finding if severity is finding.severity else replace(finding, severity=severity)


def _peers(fabric: Fabric, roles: Mapping[PciAddress, RoleName]) -> list[PciFunction]:
    """Return the host's GPUs and NICs, wherever they sit."""
    peers = (RoleName.GPU, RoleName.NIC)
    return [fabric.functions[address] for address, role in roles.items() if role in peers]


def _unfinished(record: UndoRecord | NotPermittedError | None, mode: ModeName) -> list[Finding]:
    """Tell of changes whose run did not say how they ended: the registers say how far it came."""
    if isinstance(record, NotPermittedError):
        return [Finding.unread(UNFINISHED, HOST, _ALL_ENDED, record)]
    if record is None:
        return []
    groups = sorted({entry.group for entry in record.unfinished})
    return [
        Finding(
            UNFINISHED,
            Subject(group) if group else HOST,
            Severity.WARNING,
            State.FAIL,
            Value(f"{sum(e.group == group for e in record.unfinished)} changes begun"),
            _ALL_ENDED,
            "an apply is at work here, or was killed, or could not undo what it had begun",
            Remedy(
                RemedyKind.REGISTER,
                f"pcietune apply --mode {mode} finishes it, pcietune restore undoes it",
            ),
        )
        for group in groups
    ]
