"""Judge the ACS controls of a switch group's ports."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from pcietune.errors import PcietuneError
from pcietune.model.access import HostAccess
from pcietune.model.fabric import Fabric
from pcietune.model.finding import Finding, State, Subject, Value
from pcietune.model.profile import AcsWant
from pcietune.model.severity import Severity
from pcietune.registers.acs import LSPCI_NAMES, Acs, AcsControl, lspci_controls
from pcietune.tune.audit.host_addresses import why_astray
from pcietune.tune.audit.port_reasons import failing_reason, failing_remedy
from pcietune.tune.audit.port_requirements import PortRequirement
from pcietune.tune.port_acs import built_in_controls, find_acs
from pcietune.tune.vfio_use import ISOLATION, given_to_vfio, named

_SOURCE_VALIDATION = AcsControl.SOURCE_VALIDATION
_REDIRECTING = AcsControl.P2P_REQUEST_REDIRECT | AcsControl.P2P_COMPLETION_REDIRECT
_OPENING = AcsWant(AcsControl.DIRECT_TRANSLATED_P2P, on=True)
_NEVER_ASSUMED = AcsControl.P2P_EGRESS_CONTROL | AcsControl.DIRECT_TRANSLATED_P2P
"""Controls whose capability bit 0 means that they are off; of the others, that they are safe."""


@dataclass(frozen=True, slots=True)
class JudgedBit:
    """A port's requirement and what was found.

    Attributes:
        requirement: What the port owes.
        finding: How it was judged.
        acs: The port's ACS; None if it has none or could not be read.
    """

    requirement: PortRequirement
    finding: Finding
    acs: Acs | None


def judge_ports(
    host: HostAccess, fabric: Fabric, requirements: Sequence[PortRequirement]
) -> list[JudgedBit]:
    """Judge every requirement, port by port."""
    judged: list[JudgedBit] = []
    for _, owed in groupby(requirements, key=lambda r: r.placed.port.address):
        judged += _judge_port(host, fabric, list(owed))
    return judged


def _judge_port(
    host: HostAccess, fabric: Fabric, owed: Sequence[PortRequirement]
) -> list[JudgedBit]:
    port = owed[0].placed.port
    try:
        acs = find_acs(host, port)
        if acs is not None:
            _ = acs.capability, acs.control  # read here, so that what fails fails here
    except PcietuneError as error:
        return [
            JudgedBit(requirement, _unreadable(requirement, error), None) for requirement in owed
        ]
    judged = [JudgedBit(r, _judge(host, fabric, r, acs), acs) for r in owed]
    if acs is not None and acs.supported & ~acs.enabled & ISOLATION == _SOURCE_VALIDATION:
        return [_as_information(host, fabric, j) for j in judged]
    return judged


def _as_information(host: HostAccess, fabric: Fabric, judged: JudgedBit) -> JudgedBit:
    """Soften a missing SrcValid where nothing else that isolates is off."""
    missing = judged.requirement.want == AcsWant(_SOURCE_VALIDATION, on=True)
    if not missing or judged.finding.state is not State.FAIL:
        return judged
    reason = "only SrcValid is off, as some firmware leaves it: peers get no way by that"
    given = given_to_vfio(host, fabric.below(judged.requirement.placed.port))
    if given:
        reason += f"; but {named(given)} given to VFIO may send requests in another's name"
    return replace(judged, finding=replace(judged.finding, severity=Severity.INFO, reason=reason))


def _judge(
    host: HostAccess, fabric: Fabric, requirement: PortRequirement, acs: Acs | None
) -> Finding:
    want = requirement.want
    port = requirement.placed.port
    if acs is None:
        on = want.control in built_in_controls(port)
        found = Value("no ACS capability")
        fulfilled = on == want.on
        reason = "the kernel knows this port to act as if it were on" if on else ""
    else:
        on = want.control in acs.enabled
        offered = want.control in acs.supported
        found = _word(acs, want.control, on=on)
        fulfilled = on == want.on or (
            want.on and not offered and want.control not in _NEVER_ASSUMED
        )
        reason = ""
        if on != want.on:
            word = acs.told_capability
            reason = f"not offered by ACS Capability {word}: hard-wired to the safe behaviour"
        elif not want.on and want.control in _REDIRECTING:
            reason = "redirects nothing here"
    astray = why_astray(host, fabric.below(port)) if want == _OPENING else None
    if not requirement.trusted and not fulfilled:
        state, remedy = State.NOT_APPLICABLE, None
        reason = "the profile trusts no NIC below with it, so the port stays closed"
    elif astray is not None:
        state, remedy, reason = State.ERROR, None, astray
    elif fulfilled:
        state, remedy = State.PASS, None
    else:
        state = State.FAIL
        reason = failing_reason(host, fabric, requirement, acs)
        remedy = failing_remedy(host, requirement, acs)
    wanted_word = None if acs is None or acs.is_told_in_part else _merged(acs.control, want)
    return Finding(
        id=_finding_id(requirement),
        subject=Subject.of(port),
        severity=Severity.ERROR,
        state=state,
        found=found,
        wanted=Value(str(want), wanted_word, (str(want),)),
        reason=reason,
        remedy=remedy,
    )


def _unreadable(requirement: PortRequirement, error: PcietuneError) -> Finding:
    want = str(requirement.want)
    subject = Subject.of(requirement.placed.port)
    return Finding.unread(_finding_id(requirement), subject, Value(want, None, (want,)), error)


def _finding_id(requirement: PortRequirement) -> str:
    return f"port.{requirement.place}.{LSPCI_NAMES[requirement.want.control]}"


def _word(acs: Acs, asked: AcsControl, *, on: bool) -> Value:
    """Return what was found; its value is None where a text tells only the bits that have names."""
    value = None if acs.is_told_in_part else acs.told_control
    text = f"{AcsWant(asked, on)} in ACSCtl {acs.told_control}"
    return Value(text, value, lspci_controls(acs.control))


def _merged(control: int, want: AcsWant) -> str:
    bit = want.control.value
    return f"{control | bit if want.on else control & ~bit:#06x}"
