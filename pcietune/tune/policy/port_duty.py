"""What the udev hook may write to a port and what it judges: as an audit judged the port."""

from collections.abc import Sequence
from itertools import groupby

from pcietune.address import PciAddress
from pcietune.model.access import HostAccess
from pcietune.model.finding import State
from pcietune.model.function import PciFunction
from pcietune.model.policy import PortDuty
from pcietune.model.quirks import quirk_of
from pcietune.model.severity import Severity
from pcietune.registers.acs import Acs, AcsControl
from pcietune.tune.audit.audit import Audit
from pcietune.tune.audit.judge_ports import JudgedBit
from pcietune.tune.change.liar import why_not_opened
from pcietune.tune.vfio_use import why_relied_on

_NONE = AcsControl(0)


def port_duties(host: HostAccess, audited: Audit) -> dict[PciAddress, PortDuty]:
    """Return the duty of every port that has one."""
    duties = {}
    for address, bits in groupby(audited.bits, key=lambda b: b.requirement.placed.port.address):
        port = audited.fabric.functions[address]
        duty = _duty(host, audited, port, list(bits))
        if duty is not None:
            duties[address] = duty
    return duties


def _duty(
    host: HostAccess, audited: Audit, port: PciFunction, bits: Sequence[JudgedBit]
) -> PortDuty | None:
    """Return a port's duty; None if nothing of it can be off."""
    settable = [bit for bit in bits if _can_be_set(port, bit)]
    judged = [bit for bit in bits if bit in settable or _counts(audited, bit)]
    set_mask, set_value = _merged(settable)
    if set_mask and not _may_be_written(host, audited, port, set_mask, set_value):
        judged = [bit for bit in bits if _counts(audited, bit)]
        set_mask, set_value = _NONE, _NONE
    require_mask, require_value = _merged(judged)
    if not require_mask:
        return None
    acs = next((bit.acs for bit in bits if bit.acs is not None), None)
    return PortDuty(
        location=port.location,
        id=port.id,
        set_mask=set_mask.value,
        set_value=set_value.value,
        require_mask=require_mask.value,
        require_value=require_value.value,
        dword_registers=acs is not None and acs.dword_registers,
    )


def _can_be_set(port: PciFunction, bit: JudgedBit) -> bool:
    """Return whether apply would write this control if it were not as wanted."""
    want, acs = bit.requirement.want, bit.acs
    if not bit.requirement.writable or not bit.requirement.trusted:
        return False
    if acs is None or acs.dword_registers or bit.finding.state is State.SKIP:
        return False
    quirk = quirk_of(port)
    if quirk is not None and want.on and want.control in quirk.not_set:
        return False
    return not want.on or want.control in acs.supported


def _counts(audited: Audit, bit: JudgedBit) -> bool:
    """Return whether the control must read as wanted for the port to be as wanted."""
    finding, want = bit.finding, bit.requirement.want
    severity = audited.profile.severities.get(finding.id, finding.severity)
    match finding.state:
        case State.PASS:
            return bit.acs is not None and _reads_as_wanted(bit.acs, want.control, on=want.on)
        case State.FAIL | State.ERROR:
            return severity is not Severity.INFO
        case _:
            return False


def _reads_as_wanted(acs: Acs, control: AcsControl, *, on: bool) -> bool:
    """Return whether it is not only hard-wired to act so."""
    return (control in acs.enabled) == on


def _may_be_written(
    host: HostAccess, audited: Audit, port: PciFunction, mask: AcsControl, value: AcsControl
) -> bool:
    below = audited.fabric.below(port)
    if any(audited.protection.covers(each.address) for each in (port, *below)):
        return False
    if AcsControl.DIRECT_TRANSLATED_P2P in value and why_not_opened(host, audited, below):
        return False
    return why_relied_on(host, below, mask & ~value) is None


def _merged(bits: Sequence[JudgedBit]) -> tuple[AcsControl, AcsControl]:
    """Return the controls of these bits, and those of them that are to be on."""
    mask, value = _NONE, _NONE
    for bit in bits:
        mask |= bit.requirement.want.control
        if bit.requirement.want.on:
            value |= bit.requirement.want.control
    return mask, value
