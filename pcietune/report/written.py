"""Writes as both reports tell them: planned, made or taken back, of registers and of sysfs."""

from collections.abc import Iterable
from dataclasses import dataclass

from pcietune.model.done import Done, SwitchDone, WriteDone
from pcietune.model.function import PciFunction
from pcietune.model.plan import PlannedAttribute, PlannedStep, PlannedSwitch, PlannedWrite
from pcietune.model.undo import RegisterChange
from pcietune.report.outcome import Outcome
from pcietune.tune.change.put_back import Restored


@dataclass(frozen=True, slots=True)
class Written:
    """One write; words are hex with the register's width.

    Attributes:
        group: Location of the switch group's topmost upstream port.
        function: Whose register or attribute it is.
        register: ``ACSCtl``, ``ATSCtl``, ``power/control`` or ``iommu_group/type``.
        old: What it reads before.
        new: What is written; of a group's type what it is for a moment.
        offset: Of a register in Configuration Space; None of an attribute.
        mask: The bits that are written; None of an attribute.
        readback: What it reads after; None if it was not read.
        remark: What is told of it besides; empty if nothing.
        risk: What may come of it; None if nothing that must be said.
    """

    group: str
    function: PciFunction
    register: str
    old: str
    new: str
    offset: str | None = None
    mask: str | None = None
    readback: str | None = None
    remark: str = ""
    risk: str | None = None


def writes(outcome: Outcome) -> list[Written]:
    """Return the writes that were made or taken back; of a plan, those that would be made."""
    if outcome.applied is not None:
        return [
            *map(_of_done, outcome.applied.kept),
            *map(_of_switch, outcome.applied.switched),
        ]
    if outcome.restoration is not None:
        return [_of_restored(back) for back in outcome.restoration.restored]
    return [] if outcome.plan is None else [_of_step(step) for step in outcome.plan.steps]


def line(written: Written) -> str:
    """Return a write as a line of text."""
    at = "" if written.offset is None else f" at {written.offset}"
    mask = "" if written.mask is None else f"mask {written.mask}"
    aside = ", ".join(filter(None, (mask, written.remark)))
    return (
        f"{written.function.address}  {written.register}{at}: {written.old} -> {written.new}"
        f"{f' ({aside})' if aside else ''}"
    )


def risks(told: Iterable[Written]) -> list[str]:
    """Return what may come of the writes, each with the functions that it is about."""
    about: dict[str, list[str]] = {}
    for written in told:
        if written.risk is not None:
            about.setdefault(written.risk, []).append(str(written.function.address))
    return [f"{', '.join(addresses)}: {risk}" for risk, addresses in about.items()]


def _of_step(step: PlannedStep, old: str | None = None, readback: str | None = None) -> Written:
    match step:
        case PlannedWrite():
            word = step.old if old is None else int(old, 16)
            return Written(
                group=step.group,
                function=step.function,
                register=step.register,
                old=f"{word:#06x}",
                new=f"{step.write.merge(word):#06x}",
                offset=f"{step.write.offset:#05x}",
                mask=f"{step.write.mask:#06x}",
                readback=readback,
                remark=" ".join(step.wants),
                risk=step.risk,
            )
        case PlannedAttribute():
            return Written(
                step.group,
                step.function,
                step.register,
                old or step.old,
                step.new,
                readback=readback,
            )
        case PlannedSwitch():
            return Written(
                step.group,
                step.function,
                step.register,
                step.old,
                step.new,
                readback=readback,
                remark="and back, for the kernel to set ATS",
            )


def _of_done(done: Done) -> Written:
    if isinstance(done, WriteDone):
        readback = None if done.readback is None else f"{done.readback:#06x}"
        return _of_step(done.planned, f"{done.old:#06x}", readback)
    return _of_step(done.planned, done.old, done.readback)


def _of_switch(done: SwitchDone) -> Written:
    seen = "the kernel set ATS Enable" if done.enabled else "ATS Enable stayed off"
    planned = done.planned
    return Written(
        planned.group,
        planned.function,
        planned.register,
        planned.old,
        planned.new,
        readback=done.readback,
        remark=f"and back: {seen}",
    )


def _of_restored(back: Restored) -> Written:
    entry = back.entry
    bits = entry if isinstance(entry, RegisterChange) else None
    return Written(
        entry.group,
        back.function,
        back.register,
        back.old,
        back.readback,
        offset=None if bits is None else f"{bits.offset:#05x}",
        mask=None if bits is None else f"{bits.mask:#06x}",
        readback=back.readback,
    )
