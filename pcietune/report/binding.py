"""What VFIO has of a host and was given, as lines for people and for the JSON document."""

from collections.abc import Iterable, Sequence
from itertools import groupby

from pcietune.model.binding import Binding, BindState
from pcietune.model.not_known import NOT_KNOWN
from pcietune.report.document import BindingDocument
from pcietune.report.outcome import Outcome

_NOTHING = "-"
_LOUD = {BindState.BLOCKED: "BLOCKED", BindState.FAILED: "FAILED"}
_HEAD = ("function", "role", "driver", "override", "group", "state")


def binding_documents(outcome: Outcome) -> list[BindingDocument]:
    """Return every function that was looked at."""
    return [] if outcome.bound is None else [_document(b) for b in outcome.bound.bindings]


def table(outcome: Outcome) -> Iterable[str]:
    """Yield a line for each function, and below it what is to be said of it."""
    bound = outcome.bound
    if bound is None:
        return
    yield ""
    if not bound.bindings:
        yield "no function to tell of"
        return
    rows = [_HEAD, *map(_row, bound.bindings)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    why: list[tuple[str, ...]] = [(), *(binding.why for binding in bound.bindings)]
    for row, remarks in zip(rows, why, strict=True):
        cells = zip(row, widths, strict=True)
        yield "  ".join(f"{cell:{width}}" for cell, width in cells).rstrip()
        yield from (f"  -> {remark}" for remark in remarks)
    if bound.interrupted:
        yield "interrupted: everything done in this run was undone"


def steps(outcome: Outcome) -> Iterable[str]:
    """Yield what would be done, as commands of a shell; nothing of a host that was not judged."""
    if outcome.bound is None:
        return
    told = [binding for binding in outcome.bound.bindings if binding.steps]
    yield ""
    if not told:
        yield "nothing would be done"
    yield from dict.fromkeys(step for binding in told for step in binding.steps)


def gate(outcome: Outcome) -> Iterable[str]:
    """Yield what the gate did in a run of apply, alike functions in one line."""
    if outcome.bound is None or not outcome.bound.bindings:
        return
    yield ""
    ranked = sorted(outcome.bound.bindings, key=lambda b: (list(BindState).index(b.state), b.why))
    for (state, why), alike in groupby(ranked, key=lambda b: (b.state, b.why)):
        addresses = ", ".join(str(binding.function.address) for binding in alike)
        yield f"vfio  {_word(state)}: {addresses}"
        yield from (f"  -> {remark}" for remark in why)


def _row(binding: Binding) -> Sequence[str]:
    return (
        str(binding.function.address),
        binding.role or _NOTHING,
        "not known" if binding.driver is NOT_KNOWN else binding.driver or _NOTHING,
        binding.override or _NOTHING,
        "not known" if binding.group is NOT_KNOWN else _number(binding.group),
        _word(binding.state),
    )


def _word(state: BindState) -> str:
    return _LOUD.get(state, state.replace("-", " "))


def _number(group: int | None) -> str:
    return _NOTHING if group is None else str(group)


def _document(binding: Binding) -> BindingDocument:
    unknown = {"driver": binding.driver, "group": binding.group}
    return BindingDocument(
        path=binding.function.location,
        address=str(binding.function.address),
        id=binding.function.id,
        role=binding.role,
        wanted=binding.wanted,
        driver=None if binding.driver is NOT_KNOWN else binding.driver,
        override=binding.override,
        vfio_driver=binding.vfio_driver,
        group=None if binding.group is NOT_KNOWN else binding.group,
        state=binding.state,
        why=list(binding.why),
        steps=list(binding.steps),
        not_known=[name for name, value in unknown.items() if value is NOT_KNOWN],
    )
