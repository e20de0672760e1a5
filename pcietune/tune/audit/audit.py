"""Judge a host by a profile in a mode."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from pcietune.address import PciAddress
from pcietune.errors import BadInputError, ExitCode
from pcietune.model.access import HostAccess
from pcietune.model.fabric import Fabric
from pcietune.model.finding import Finding
from pcietune.model.function import PciFunction
from pcietune.model.profile import Mode, ModeName, Profile
from pcietune.model.protection import Protection
from pcietune.model.role_name import RoleName
from pcietune.model.switch_group import SwitchGroup, switch_groups
from pcietune.model.yardstick import Yardstick
from pcietune.tune.ats.disproved import with_disproofs
from pcietune.tune.ats.judge_ats import JudgedAts
from pcietune.tune.audit.duties import modes_of, on_bare_metal, serving_vms
from pcietune.tune.audit.judge_acs_override import judge_acs_override
from pcietune.tune.audit.judge_binding import judge_binding
from pcietune.tune.audit.judge_iommu import judge_iommu
from pcietune.tune.audit.judge_kernel import judge_kernel
from pcietune.tune.audit.judge_kernel_log import judge_kernel_log
from pcietune.tune.audit.judge_layout import judge_layout
from pcietune.tune.audit.judge_numa import judge_numa
from pcietune.tune.audit.judge_order import judge_order
from pcietune.tune.audit.judge_owners import judge_owners
from pcietune.tune.audit.judge_ports import JudgedBit
from pcietune.tune.audit.judge_protection import judge_protection
from pcietune.tune.audit.judge_redirection import judge_redirection
from pcietune.tune.audit.judge_runtime_pm import JudgedPower
from pcietune.tune.audit.judge_switch_group import Duty, judge_switch_group
from pcietune.tune.audit.judge_unfinished import judge_unfinished
from pcietune.tune.audit.kernel_words import with_kernel_words
from pcietune.tune.audit.memory import NO_MEMORY, Memory
from pcietune.tune.audit.select import select, selected_paths
from pcietune.tune.audit.waive import judge_waivers, waive
from pcietune.tune.match.protect import left_out, protect
from pcietune.tune.match.roles import assign_roles


@dataclass(frozen=True, slots=True)
class Audit:
    """A host, judged.

    Attributes:
        yardstick: What it was judged by.
        fabric: The host's functions.
        protection: What is never touched.
        roles: Which of the others has which role.
        groups: The host's switch groups, without what is protected.
        bits: What the ports owe, and how that was judged.
        ats: The ATS of what the NICs hand to VMs, and what apply may do about it.
        power: The ports' runtime power management.
        findings: Everything that was judged, what stands above included, by location and id.
    """

    yardstick: Yardstick
    fabric: Fabric
    protection: Protection
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
    present = assign_roles(profile, fabric, host)
    whole = switch_groups(fabric, present, profile)
    _check_group_modes(yardstick, whole)
    protection = protect(host, fabric, present, yardstick.protect)
    gone = left_out(present, protection, on_bare_metal(yardstick, present, whole))
    roles = {address: role for address, role in present.items() if address not in gone}
    groups = switch_groups(fabric, roles, profile) if gone else whole
    paths = selected_paths(yardstick.selection, fabric)
    asked = partial(waive, waivers=yardstick.waivers, today=yardstick.today)
    _mode(profile, yardstick.mode)
    bits: list[JudgedBit] = []
    ats: list[JudgedAts] = []
    power: list[JudgedPower] = []
    findings = judge_layout(fabric, profile.layout, present, whole)
    findings += judge_numa(host, fabric, present, whole, profile.layout.numa_nodes)
    findings += judge_protection(fabric, present, protection, gone)
    by_mode = {
        name: _in_mode(name, yardstick, fabric, roles, groups)
        for name in sorted({yardstick.mode, *yardstick.group_modes.values()})
    }
    findings += judge_kernel(host, {name: peers for name, (peers, _) in by_mode.items()})
    for name, (peers, theirs) in by_mode.items():
        findings += judge_iommu(host, peers, theirs, _mode(profile, name).iommu)
    looked_at = [group for group in groups if yardstick.selection.looks_at(group.name)]
    for group in looked_at:
        name = yardstick.mode_of(group.name)
        judged = judge_switch_group(host, fabric, group, _duty(yardstick, name, memory))
        bits += judged.bits
        ats += judged.ats
        power += judged.power
        findings += judged.findings
    findings += judge_acs_override(host, findings)
    bits = with_kernel_words([replace(bit, finding=asked(bit.finding)) for bit in bits])
    ats = with_disproofs(ats, memory.trials.disproofs)
    ats = [replace(each, finding=asked(each.finding)) for each in ats]
    power = [replace(each, finding=asked(each.finding)) for each in power]
    findings += [bit.finding for bit in bits]
    findings += [each.finding for each in ats]
    findings += [each.finding for each in power]
    findings += judge_redirection(
        [g for g in looked_at if yardstick.mode_of(g.name) is ModeName.BAREMETAL], bits
    )
    findings += judge_unfinished(memory.record, yardstick.mode)
    guests = serving_vms(yardstick, roles, groups)
    policy = yardstick.vfio_of(ModeName.VM)
    findings += judge_owners(host, fabric, guests, policy, memory.owners)
    findings += judge_order(host, fabric, guests, memory.stamps, memory.owners)
    findings += judge_kernel_log(fabric, roles, memory.log)
    findings = [_weighed(asked(finding), profile) for finding in findings]
    findings += map(asked, judge_binding(host, fabric, yardstick, roles, findings))
    findings += judge_waivers(findings, yardstick.waivers, yardstick.today)
    findings = [_weighed(finding, profile) for finding in findings]
    findings = select(findings, yardstick.selection, paths)
    return Audit(
        yardstick=yardstick,
        fabric=fabric,
        protection=protection,
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


def _duty(yardstick: Yardstick, name: ModeName, memory: Memory) -> Duty:
    return Duty(
        name=name,
        mode=_mode(yardstick.profile, name),
        attach=yardstick.profile.roles[RoleName.NIC].attach,
        tenancy=yardstick.tenancy,
        proofs=memory.trials.proofs,
    )


def _check_group_modes(yardstick: Yardstick, groups: Sequence[SwitchGroup]) -> None:
    """Do nothing if every switch group that has a mode of its own is one of this host.

    Raises:
        BadInputError: One is not, so that some group would be judged by the wrong mode.
    """
    names = [group.name for group in groups]
    for name in yardstick.group_modes:
        if name not in names:
            raise BadInputError(
                f"/etc/pcietune/pcietune.yaml: {name} has a mode, but is no switch group of this "
                "host",
                hint=f"its switch groups are {', '.join(names) or 'none'}",
            )


def _weighed(finding: Finding, profile: Profile) -> Finding:
    """Return the finding with the severity that the profile gives it, if any."""
    severity = profile.severities.get(finding.id, finding.severity)
    return finding if severity is finding.severity else replace(finding, severity=severity)


def _in_mode(
    name: ModeName,
    yardstick: Yardstick,
    fabric: Fabric,
    roles: Mapping[PciAddress, RoleName],
    groups: Sequence[SwitchGroup],
) -> tuple[list[PciFunction], list[SwitchGroup]]:
    """Return GPUs and NICs in a mode, wherever they sit, and the switch groups in it."""
    modes = modes_of(yardstick, roles, groups)
    peers = [
        fabric.functions[address]
        for address, role in roles.items()
        if role in (RoleName.GPU, RoleName.NIC) and modes[address] is name
    ]
    return peers, [group for group in groups if yardstick.mode_of(group.name) is name]
