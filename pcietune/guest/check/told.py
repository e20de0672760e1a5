"""What came of a check, for people: the first difference first."""

from collections.abc import Iterable, Iterator

from pcietune.guest.check.checked import Checked
from pcietune.guest.check.row import Aspect, Row, Verdict


def lines(checked: Checked) -> Iterator[str]:
    """Yield a check as lines of text."""
    differing, unknown = checked.of(Verdict.DIFFERS), checked.of(Verdict.NOT_KNOWN)
    whole = len(checked.rows)
    left = [f"{len(unknown)} not known"] if unknown else []
    left += [f"functions not seen: {len(checked.unseen)}"] if checked.unseen else []
    if differing:
        parts = ", ".join([f"{len(differing)} of {whole} differ", *left])
        yield f"NOT as planned: {checked.name}: {parts}"
    elif left:
        parts = ", ".join([f"{whole} compared", *left])
        yield f"not known: whether {checked.name} is as planned: {parts}"
    else:
        yield f"pass  {checked.name} is as planned: {whole} compared"
    yield from _by_cause(differing)
    if differing and unknown:
        yield "not known:"
    yield from _by_cause(unknown)
    yield from _passes(checked.of(Verdict.PASS))
    for note in (*checked.unseen, *checked.notes):
        yield f"note  {note}"


def sentence(row: Row) -> str:
    """Return what differs, or is not known, without its cause."""
    if row.aspect is Aspect.UNPLANNED:
        return f"{row.subject}: {row.found}, which the plan has not"
    if row.aspect is Aspect.TOPOLOGY:
        return f"{row.subject}: {row.found}"
    if row.verdict is Verdict.NOT_KNOWN:
        return f"{row.subject}: {row.aspect} not known, planned {row.planned}"
    if row.found is None:
        return f"{row.subject}: not there, planned at {row.planned}"
    if row.aspect is Aspect.ADDRESS:
        return f"{row.subject} is at {row.found}, planned {row.planned}"
    return f"{row.subject}: {row.aspect} {row.found}, planned {row.planned}"


def _by_cause(rows: Iterable[Row]) -> Iterator[str]:
    """Yield the rows of each cause, in the order in which causes come up, and then the cause."""
    causes: dict[str, list[Row]] = {}
    for row in rows:
        causes.setdefault(row.why, []).append(row)
    for why, members in causes.items():
        for row in members:
            yield f"  {sentence(row)}"
        yield f"  -> {why}"


def _passes(rows: Iterable[Row]) -> Iterator[str]:
    """Yield of what subjects which aspects pass, those of whom the same does in one line."""
    aspects: dict[str, list[str]] = {}
    for row in rows:
        aspects.setdefault(row.subject, []).append(row.aspect)
    subjects: dict[str, list[str]] = {}
    for subject, several in aspects.items():
        subjects.setdefault(", ".join(several), []).append(subject)
    for passing, members in subjects.items():
        yield f"pass  {', '.join(members)}: {passing}"
