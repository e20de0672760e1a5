"""Fill the JSON document's writes, deferred and residual."""

from pcietune.model.finding import Finding
from pcietune.model.plan import HeldBack
from pcietune.model.undo import AttributeChange, Change, RegisterChange
from pcietune.registers.ats import ENABLE_MASK
from pcietune.report.document import ResidualDocument, WriteDocument
from pcietune.report.outcome import Outcome
from pcietune.report.written import Written, writes
from pcietune.tune.change.plan import REGISTER as ACS_CONTROL
from pcietune.tune.change.plan_ats import REGISTER as ATS_CONTROL
from pcietune.tune.change.put_back import GROUP_TYPE


def write_documents(outcome: Outcome) -> list[WriteDocument]:
    """Return the writes that were made or taken back; of a plan, those that would be made."""
    return [_write(written) for written in writes(outcome)]


def deferred_documents(outcome: Outcome) -> list[ResidualDocument]:
    """Return the writes that wait until a function is no longer in use."""
    return [] if outcome.plan is None else [_held(held) for held in outcome.plan.deferred]


def residual_documents(outcome: Outcome) -> list[ResidualDocument]:
    """Return what stays as it is: held back, not begun, or beyond any write."""
    left = [] if outcome.restoration is None else outcome.restoration.left
    residual = [
        ResidualDocument(
            path=each.entry.location,
            address=str(each.entry.address),
            what=_named(each.entry),
            reason=each.reason,
        )
        for each in left
    ]
    plan = outcome.plan
    if plan is None:
        return residual
    residual += [_held(held) for held in outcome.held_back]
    residual += [
        ResidualDocument(path=group, address=None, what="switch group not begun", reason=reason)
        for group, reason in plan.unreadable
    ]
    return residual + [_failing(finding) for finding in outcome.beyond_writing]


def _write(written: Written) -> WriteDocument:
    return WriteDocument(
        path=written.function.location,
        address=str(written.function.address),
        register=written.register,
        offset=written.offset,
        old=written.old,
        mask=written.mask,
        new=written.new,
        readback=written.readback,
    )


def _held(held: HeldBack) -> ResidualDocument:
    return ResidualDocument(
        path=held.planned.function.location,
        address=str(held.planned.function.address),
        what=" ".join(held.planned.wants),
        reason=held.reason,
    )


def _named(change: Change) -> str:
    """Return what a recorded change is about."""
    match change:
        case RegisterChange():
            register = ATS_CONTROL if change.mask == ENABLE_MASK else ACS_CONTROL
            return f"{register} mask {change.mask:#06x}"
        case AttributeChange():
            return change.attribute
        case _:
            return GROUP_TYPE


def _failing(finding: Finding) -> ResidualDocument:
    address = finding.subject.address
    return ResidualDocument(
        path=finding.subject.path,
        address=None if address is None else str(address),
        what=finding.id,
        reason=finding.reason,
    )
