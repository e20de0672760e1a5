"""Judge a host by a profile in a mode."""

from collections.abc import Mapping
from dataclasses import dataclass

from pcietune.address import PciAddress
from pcietune.errors import BadInputError, ExitCode, NotPermittedError
from pcietune.model.access import HostAccess
from pcietune.model.fabric import Fabric
from pcietune.model.finding import (
    HOST,
    Finding,
    Remedy,
    RemedyKind,
    Severity,
    State,
    Subject,
    Value,
)
from pcietune.model.function import PciFunction
from pcietune.model.profile import ModeName, Profile, RoleName
from pcietune.model.switch_group import SwitchGroup, switch_groups
from pcietune.model.undo import UndoRecord
from pcietune.tune.judge_ats import judge_ats
from pcietune.tune.judge_groups import judge_groups
from pcietune.tune.judge_iommu import judge_iommu
from pcietune.tune.judge_layout import judge_layout
from pcietune.tune.judge_port_types import judge_port_types
from pcietune.tune.judge_ports import JudgedBit, judge_ports
from pcietune.tune.judge_redirection import judge_redirection
from pcietune.tune.kernel_words import with_kernel_words
from pcietune.tune.port_requirements import port_requirements
from pcietune.tune.roles import assign_roles

UNFINISHED = "apply.unfinished"

_ALL_ENDED = Value("every change finished or undone")


@dataclass(frozen=True, slots=True)
class Audit:
    """A host, judged.

    Attributes:
        profile: The yardstick.
        mode: The duty that it was judged for.
        fabric: The host's functions.
        roles: Which of them has which role.
        groups: The host's switch groups.
        bits: What the ports owe, and how that was judged.
        findings: Everything that was judged, ``bits`` included, by location and id.
    """

    profile: Profile
    mode: ModeName
    fabric: Fabric
    roles: Mapping[PciAddress, RoleName]
    groups: tuple[SwitchGroup, ...]
    bits: tuple[JudgedBit, ...]
    findings: tuple[Finding, ...]

    def exit_code(self, *, strict: bool = False) -> ExitCode:
        """Return the exit code that the findings ask for; strict counts pending ones."""
        return ExitCode.of_several([f.exit_code(strict=strict) for f in self.findings])


def audit(
    host: HostAccess,
    fabric: Fabric,
    profile: Profile,
    mode: ModeName,
    record: UndoRecord | NotPermittedError | None,
) -> Audit:
    """Judge ``host``.

    Args:
        host: Where facts and registers come from.
        fabric: Its functions, with port types for all bridges above the profile's functions.
        profile: The yardstick.
        mode: The duty.
        record: What an earlier apply of this boot left; None if there is nothing, and the error if
            this user may not look.

    Raises:
        BadInputError: The profile does not have the mode, or contradicts itself on this host.
    """
    wanted = profile.modes.get(mode)
    if wanted is None:
        raise BadInputError(
            f"profile {profile.name} has no mode {mode}",
            hint=f"it has {', '.join(profile.modes)}",
        )
    roles = assign_roles(profile, fabric, host)
    groups = switch_groups(fabric, roles, profile)
    bits: list[JudgedBit] = []
    findings = judge_layout(profile.layout, roles, groups)
    findings += judge_iommu(host, _peers(fabric, roles), groups, wanted.iommu)
    for group in groups:
        findings += judge_port_types(host, fabric, group)
        bits += judge_ports(host, fabric, port_requirements(group, mode, wanted))
        findings += judge_ats(host, fabric, group, profile.roles[RoleName.NIC], wanted.ats)
        findings += judge_groups(host, fabric, group, wanted.groups)
    bits = with_kernel_words(bits)
    findings += [judged.finding for judged in bits]
    if mode is ModeName.BAREMETAL:
        findings += judge_redirection(groups, bits)
    if isinstance(record, NotPermittedError):
        findings.append(Finding.unread(UNFINISHED, HOST, _ALL_ENDED, record))
    elif record is not None:
        findings += _unfinished(record, mode)
    return Audit(
        profile=profile,
        mode=mode,
        fabric=fabric,
        roles=roles,
        groups=groups,
        bits=tuple(bits),
        findings=tuple(sorted(findings, key=lambda f: f.order)),
    )


def _peers(fabric: Fabric, roles: Mapping[PciAddress, RoleName]) -> list[PciFunction]:
    """Return the host's GPUs and NICs, wherever they sit."""
    peers = (RoleName.GPU, RoleName.NIC)
    return [fabric.functions[address] for address, role in roles.items() if role in peers]


def _unfinished(record: UndoRecord, mode: ModeName) -> list[Finding]:
    """Tell of changes whose run did not say how they ended: the registers say how far it came."""
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
