"""Judge whether VFIO has what the profile or the settings name under ``vfio: {bind: [...]}``."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pcietune.address import PciAddress
from pcietune.errors import ConfigSpaceError, PcietuneError
from pcietune.model.access import HostAccess
from pcietune.model.fabric import Fabric
from pcietune.model.finding import Finding, Remedy, RemedyKind, State, Subject, Value
from pcietune.model.function import PciFunction
from pcietune.model.not_known import NotKnown
from pcietune.model.profile import ModeName
from pcietune.model.role_name import RoleName
from pcietune.model.severity import Severity
from pcietune.model.vfio import VfioPolicy
from pcietune.model.yardstick import Yardstick
from pcietune.tune.audit.concerning import standing_against
from pcietune.tune.audit.handed_over import duty_of, handed_over

ID = "vfio.binding"

_WANTED = Value("a VFIO driver")


def judge_binding(
    host: HostAccess,
    fabric: Fabric,
    yardstick: Yardstick,
    roles: Mapping[PciAddress, RoleName],
    findings: Sequence[Finding],
) -> list[Finding]:
    """Judge each function that is to be bound, in switch groups that are looked at.

    Args:
        host: What says who has a function.
        fabric: All functions.
        yardstick: What names the roles that are bound.
        roles: Of what is not protected.
        findings: All others; what fails of a function or above it keeps that from VFIO.
    """
    if not yardstick.vfio_of(ModeName.VM).bind:
        return []
    judged = []
    for function, role in handed_over(host, fabric, yardstick, roles):
        policy = yardstick.vfio_of(duty_of(fabric, yardstick, function))
        top = fabric.topmost_switch(function)
        looked_at = top is None or yardstick.selection.looks_at(top.location)
        if policy.binds(role) and looked_at:
            judged.append(_judge(host, function, policy, findings))
    return judged


def _judge(
    host: HostAccess, function: PciFunction, policy: VfioPolicy, findings: Sequence[Finding]
) -> Finding:
    subject, severity = Subject.of(function), Severity.WARNING
    try:
        vfio = host.state(function).vfio
    except PcietuneError as error:
        return Finding.unread(ID, subject, _WANTED, error, severity)
    if vfio is None or isinstance(function.driver, NotKnown):
        unknown = ConfigSpaceError(
            f"{function.address}: its driver is not known: a dump does not tell",
            hint="record the host with pcietune record instead",
        )
        return Finding.unread(ID, subject, _WANTED, unknown, severity)
    if vfio:
        return Finding(ID, subject, severity, State.PASS, _WANTED, _WANTED, "")
    found = Value(f"driver {function.driver}" if function.driver else "no driver", function.driver)
    finding = Finding(ID, subject, severity, State.FAIL, found, _WANTED, "")
    if function.driver is not None:
        reason = (
            f"{function.driver} has it, and apply takes no function from a driver; if the host "
            "itself uses it, it belongs under protect in the settings"
        )
        return replace(finding, reason=reason, remedy=_bind(function))
    against = standing_against(host, findings, function)
    if against:
        names = ", ".join(dict.fromkeys(each.id for each in against))
        reason = f"it is kept from VFIO, for not all is as it must be before: {names}"
        return replace(finding, reason=reason)
    when = f"when {policy.after} is up" if policy.after else "by the next pcietune apply"
    reason = f"it is idle, and bound {when}"
    return replace(finding, state=State.PENDING, reason=reason, remedy=_bind(function))


def _bind(function: PciFunction) -> Remedy:
    return Remedy(RemedyKind.SOFTWARE, f"pcietune vfio bind {function.address}")
