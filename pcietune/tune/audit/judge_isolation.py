"""Compare the isolation that live registers imply with what IOMMU groups claim.

The kernel forms a group once, when a function appears. Registers that change later make the claim
false, and VFIO believes the claim.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from pcietune.errors import ConfigSpaceError, ExitCode, PcietuneError
from pcietune.model.access import HostAccess
from pcietune.model.fabric import Fabric
from pcietune.model.finding import Finding, Remedy, RemedyKind, State, Subject, Value
from pcietune.model.function import PciFunction
from pcietune.model.not_known import NotKnown
from pcietune.model.profile import GroupPolicy
from pcietune.model.severity import Severity
from pcietune.model.switch_group import SwitchGroup
from pcietune.tune.audit.isolation import Opening, reach_each_other, read_openings
from pcietune.tune.audit.judge_groups import strangers
from pcietune.tune.iommu_remedies import FORM_ANEW
from pcietune.tune.vfio_use import given_to_vfio, named

ID = "group.isolation"

_WANTED = Value("the isolation that IOMMU groups claim")
_SET_AT_BOOT = Remedy(
    RemedyKind.KERNEL_ARGS,
    "reboot without what cleared it (firmware, a script, pci=disable_acs_redir, pci=config_acs): "
    "the kernel sets it before groups form; until then no two VMs may share this switch",
)
_ONE_DOMAIN = Remedy(
    RemedyKind.SOFTWARE, "give all functions below this switch to one VM, or to none"
)


def judge_isolation(
    host: HostAccess, fabric: Fabric, group: SwitchGroup, policy: GroupPolicy
) -> list[Finding]:
    """Judge what the groups claim of a switch group's GPUs and NICs, port by port.

    Where nobody relies on isolation, a false claim is information.
    """
    members = _sorted((*group.gpus, *group.nics))
    relied = policy is GroupPolicy.SEPARATE or bool(given_to_vfio(host, fabric.below(group.top)))
    if policy is GroupPolicy.IGNORE and not relied:
        return []
    severity = Severity.ERROR if relied else Severity.INFO
    try:
        numbers = [host.state(member).group for member in members]
    except PcietuneError as vanished:
        return [_unread(Subject.of(group.top), vanished, severity)]
    if all(number is None for number in numbers):
        return []
    if any(isinstance(number, NotKnown) for number in numbers):
        no_groups = ConfigSpaceError("IOMMU groups are not known here")
        return [_unread(Subject.of(group.top), no_groups, Severity.INFO)]
    found = list(read_openings(host, fabric, members))
    openings = [opening for opening in found if isinstance(opening, Opening)]
    errors = [error for error in found if not isinstance(error, Opening)]
    findings = [_several_unread(Subject.of(group.top), errors, severity)] if errors else []
    for opening in openings:
        findings += _judge_opening(host, opening, members, severity)
    if not errors:
        findings += _kept_together(host, fabric, members, openings)
    return findings or [
        Finding(
            ID,
            Subject.of(group.top),
            severity,
            State.PASS,
            Value("no claim that registers contradict"),
            _WANTED,
            "",
        )
    ]


def apart_by_groups(
    host: HostAccess, opening: Opening, about: Sequence[PciFunction]
) -> list[tuple[PciFunction, PciFunction]]:
    """Return who reaches whom through an opening though they are in different groups.

    Only pairs with one of ``about``.
    """
    pairs = []
    for one in opening.inside:
        for other in opening.peers:
            if one not in about and other not in about:
                continue
            groups = {_group(host, one), _group(host, other)}
            if len(groups) == 2 and None not in groups:
                pairs.append((one, other))
    return pairs


def _judge_opening(
    host: HostAccess, opening: Opening, members: Sequence[PciFunction], severity: Severity
) -> list[Finding]:
    pairs = apart_by_groups(host, opening, members)
    if not pairs:
        return []
    ones = _sorted({one for one, _ in pairs})
    others = _sorted({other for _, other in pairs})
    if opening.only_source_validation:
        severity, remedy = Severity.INFO, _SET_AT_BOOT
        reason = "only SrcValid is off, as some firmware leaves it: peers get no way by that"
    else:
        given = given_to_vfio(host, _sorted({*ones, *others}))
        loud = f"ISOLATION LOST, and {named(given)} given to VFIO relies on it: " if given else ""
        whom = named(others) if set(ones) <= set(others) else f"{named(ones)} and {named(others)}"
        reason = f"{loud}{whom} reach each other, though their IOMMU groups say that they cannot"
        remedy = _SET_AT_BOOT
        if opening.missing is None:
            reason += ": when Linux forms groups it passes over ports that have no ACS"
            remedy = _ONE_DOMAIN
    return [
        Finding(
            ID,
            Subject.of(opening.at),
            severity,
            State.FAIL,
            Value(opening.why.removeprefix("has ")),
            _WANTED,
            reason,
            remedy,
        )
    ]


def _kept_together(
    host: HostAccess,
    fabric: Fabric,
    members: Sequence[PciFunction],
    openings: Sequence[Opening],
) -> list[Finding]:
    """Tell of functions that share a group though the registers keep them apart now."""
    findings = []
    for member in members:
        own = host.platform().group(host.state(member).group)
        if own is None:
            continue
        others = [
            other
            for other in strangers(fabric, member, own)
            if other is not None
            and other in members
            and not reach_each_other(openings, member, other)
        ]
        if others:
            findings.append(
                Finding(
                    ID,
                    Subject.of(member),
                    Severity.INFO,
                    State.FAIL,
                    Value(f"group {own.number}", str(own.number)),
                    _WANTED,
                    f"shares group {own.number} with {named(others)} though the ports keep them "
                    "apart now: the group was formed before",
                    FORM_ANEW,
                )
            )
    return findings


def _sorted(functions: Iterable[PciFunction]) -> list[PciFunction]:
    return sorted(functions, key=lambda function: function.address)


def _group(host: HostAccess, function: PciFunction) -> int | None:
    """Return the number of a function's group; None if it has none, or none that is known."""
    try:
        number = host.state(function).group
    except PcietuneError:
        return None
    return None if isinstance(number, NotKnown) else number


def _unread(subject: Subject, error: PcietuneError, severity: Severity) -> Finding:
    """Return that it is not known; where nobody relies on it that turns no exit code."""
    if severity is Severity.INFO:
        return Finding(ID, subject, severity, State.ERROR, Value("not known"), _WANTED, str(error))
    return Finding.unread(ID, subject, _WANTED, error)


def _several_unread(
    subject: Subject, errors: Sequence[PcietuneError], severity: Severity
) -> Finding:
    """Return, once for all ports, that some could not be read; the first stands for them."""
    finding = _unread(subject, errors[0], severity)
    if len(errors) == 1:
        return finding
    return replace(
        finding,
        reason=f"{finding.reason}; {len(errors) - 1} more of its ports and functions likewise",
        code=ExitCode.of_several([finding.code, *(error.exit_code for error in errors)])
        if finding.severity is Severity.ERROR
        else finding.code,
    )
