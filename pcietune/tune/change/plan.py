"""Plan the steps: what is safe to do, what must wait, what is refused."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

from pcietune.model.access import HostAccess
from pcietune.model.finding import UNKNOWN, State
from pcietune.model.function import PciFunction
from pcietune.model.plan import HeldBack, Plan, PlannedSwitch, PlannedWrite
from pcietune.model.quirks import quirk_of
from pcietune.model.severity import Severity
from pcietune.model.undo import RegisterChange
from pcietune.registers.acs import Acs, AcsControl
from pcietune.tune.audit.audit import Audit
from pcietune.tune.audit.judge_ports import JudgedBit
from pcietune.tune.change.draft import Draft
from pcietune.tune.change.keep_off import keep_off
from pcietune.tune.change.liar import why_not_opened
from pcietune.tune.change.plan_ats import ats_drafts
from pcietune.tune.change.plan_power import power_drafts
from pcietune.tune.vfio_use import why_in_use, why_relied_on

REGISTER = "ACSCtl"


def plan(host: HostAccess, audited: Audit, *, while_in_use: bool, force_ats: bool = False) -> Plan:
    """Return the steps that turn the audit's failing findings into passes.

    Args:
        host: Where it was audited.
        audited: What was found there.
        while_in_use: Whether to write under functions that VFIO has in use.
        force_ats: Whether ATS Enable may be written where the profile says so.
    """
    unreadable = _unreadable_groups(audited)
    begun = [g.name for g in audited.groups if g.name not in dict(unreadable)]
    readable = replace(
        audited,
        bits=tuple(b for b in audited.bits if b.requirement.group.name in begun),
        ats=tuple(j for j in audited.ats if j.group in begun),
        power=tuple(j for j in audited.power if j.group in begun),
    )
    drafts = [
        *_port_drafts(host, readable, while_in_use=while_in_use),
        *ats_drafts(host, readable, force_ats=force_ats),
        *power_drafts(readable),
    ]
    drafts = keep_off(audited, drafts)
    drafts.sort(key=lambda draft: begun.index(draft.planned.group))
    steps = [d.planned for d in drafts if not (d.beyond or d.refused or d.deferred)]
    return Plan(
        writes=tuple(step for step in steps if not isinstance(step, PlannedSwitch)),
        switches=tuple(step for step in steps if isinstance(step, PlannedSwitch)),
        deferred=tuple(
            HeldBack(d.planned, d.deferred) for d in drafts if d.deferred and not d.refused
        ),
        refused=tuple(HeldBack(d.planned, d.refused) for d in drafts if d.refused),
        beyond=tuple(HeldBack(d.planned, d.beyond) for d in drafts if d.beyond),
        unreadable=unreadable,
        found=tuple(
            _as_found(bit, bit.acs)
            for bit in audited.bits
            if bit.requirement.writable and bit.acs and _is_found(bit, bit.acs)
        ),
    )


def _port_drafts(host: HostAccess, audited: Audit, *, while_in_use: bool) -> list[Draft]:
    """Return one write of ACS Control for each port that owes something."""
    drafts = []
    for address, bits in groupby(audited.bits, key=lambda b: b.requirement.placed.port.address):
        port = audited.fabric.functions[address]
        owed = [bit for bit in bits if bit.requirement.writable]
        planned = _write_of(port, [bit for bit in owed if _can_be_written(bit)])
        if planned is None:
            continue
        below = audited.fabric.below(port)
        drafts.append(
            Draft(
                planned if while_in_use else replace(planned, watched=tuple(below)),
                refused=_refusal(host, audited, planned, below),
                deferred=None if while_in_use else why_in_use(host, below),
            )
        )
    return drafts


def _unreadable_groups(audited: Audit) -> tuple[tuple[str, str], ...]:
    """Return the switch groups in which something that counts could not be read, and what."""
    errors = {
        f.subject.address: f
        for f in audited.findings
        if f.state is State.ERROR and f.found == UNKNOWN and f.severity is not Severity.INFO
    }
    found = []
    for group in audited.groups:
        ports = (placed.port for placed in group.ports)
        members = (*ports, group.top, *audited.fabric.below(group.top))
        broken = next((errors[m.address] for m in members if m.address in errors), None)
        if broken is not None:
            found.append((group.name, broken.reason))
    return tuple(found)


def _can_be_written(bit: JudgedBit) -> bool:
    """Return whether the finding fails and the port offers the control at all."""
    return (
        bit.finding.state is State.FAIL
        and bit.acs is not None
        and (not bit.requirement.want.on or bit.requirement.want.control in bit.acs.supported)
    )


def _write_of(port: PciFunction, bits: Sequence[JudgedBit]) -> PlannedWrite | None:
    acs = next((bit.acs for bit in bits if bit.acs is not None), None)
    if acs is None or acs.dword_registers:
        return None
    among, enabled = AcsControl(0), AcsControl(0)
    for bit in bits:
        among |= bit.requirement.want.control
        if bit.requirement.want.on:
            enabled |= bit.requirement.want.control
    return PlannedWrite(
        group=bits[0].requirement.group.name,
        function=port,
        register=REGISTER,
        old=acs.control,
        write=acs.write(enabled, among=among),
        wants=tuple(str(bit.requirement.want) for bit in bits),
        finding_ids=tuple(bit.finding.id for bit in bits),
    )


def _is_found(bit: JudgedBit, acs: Acs) -> bool:
    """Return whether the control reads as wanted, not only acts so because it is not offered."""
    want = bit.requirement.want
    return (want.control in acs.enabled) == want.on


def _as_found(bit: JudgedBit, acs: Acs) -> RegisterChange:
    want = bit.requirement.want
    value = want.control.value if want.on else 0
    port = bit.requirement.placed.port
    return RegisterChange(
        group=bit.requirement.group.name,
        location=port.location,
        address=port.address,
        id=port.id,
        offset=acs.control_offset,
        mask=want.control.value,
        old=value,
        new=value,
    )


def _refusal(
    host: HostAccess, audited: Audit, planned: PlannedWrite, below: Sequence[PciFunction]
) -> str | None:
    """Return why the write is refused, or None."""
    changed = AcsControl.decode(planned.write.mask)
    turned_on = AcsControl.decode(planned.write.value)
    quirk = quirk_of(planned.function)
    if quirk is not None and quirk.not_set & turned_on:
        return f"{planned.function.address}: {quirk.says} ({quirk.source})"
    if AcsControl.DIRECT_TRANSLATED_P2P in turned_on:
        liar = why_not_opened(host, audited, below)
        if liar is not None:
            return liar
    return why_relied_on(host, below, changed & ~turned_on)
