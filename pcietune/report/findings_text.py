"""Findings as plain lines for people: what is worst first, what only informs in one line each."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby

from pcietune.model.finding import Finding, Remedy, State
from pcietune.model.severity import Severity
from pcietune.report.outcome import Outcome
from pcietune.tune.audit.judge_redirection import ID as REDIRECTION

_LONG_REMEDY = 200  # characters; told once
_MOST_REMEDIES = 2  # of findings that differ in their subject only
_NOT_READ = "NOT READ"
_FAIL = "FAIL"
_PENDING = "PENDING"
_NOTE = "note"
_WAIVED = "waived"
_NOT_ASKED = "not asked for"
_NOT_APPLICABLE = "not applicable"
_PASS = "pass"  # noqa: S105 -- no password
_FIRST_TO_LAST = (_NOT_READ, _FAIL, _PENDING, _NOTE, _WAIVED, _NOT_APPLICABLE, _PASS)
_COUNTED = (_PASS, _NOT_READ, _FAIL, _PENDING, _WAIVED, _NOT_APPLICABLE, _NOTE, _NOT_ASKED)
_LOUDEST = "isolation."


def findings(outcome: Outcome, *, passes: bool, notes: bool = False) -> Iterable[str]:
    """Yield what is not as wanted, what could not be read, and the count of each state.

    Args:
        outcome: The run.
        passes: Whether to list what is as wanted, too.
        notes: Whether to tell all of what is only for information, not a line for each id.
    """
    if outcome.audit is None:
        return
    left_out = {_NOT_ASKED} if passes else {_NOT_ASKED, _PASS}
    told = [finding for finding in outcome.audit.findings if _word(finding) not in left_out]
    ranked = sorted(told, key=lambda f: (_FIRST_TO_LAST.index(_word(f)), _rank(f), _apart(f)))
    folded = [finding for finding in ranked if not notes and _only_informs(finding)]
    whole = [finding for finding in ranked if notes or not _only_informs(finding)]
    remedies: set[Remedy] = set()
    for _, alike in groupby(whole, key=lambda f: (_word(f), f.severity, f.waiver, _apart(f))):
        yield ""
        yield from _block(list(alike), remedies)
    yield ""
    if folded:
        yield from _fold(folded)
        yield ""
    yield from summary(outcome)


def summary(outcome: Outcome) -> Iterable[str]:
    """Yield how many findings there are of each kind, and what that means for the whole host."""
    if outcome.audit is None:
        return
    words = Counter(_word(finding) for finding in outcome.audit.findings)
    counts = ", ".join(f"{words[word]} {word}" for word in _COUNTED if words[word])
    groups = _counted(len(outcome.audit.groups), "switch group")
    yield f"{groups}, {_counted(words.total(), 'finding')}: {counts}"
    if not outcome.audit.groups:
        yield (
            "No switch carries both a GPU and a NIC: their paths meet in the root complex, where "
            "the IOMMU's mode and the host bridges decide, not ACS of a switch."
        )
    for finding in outcome.audit.findings:
        if finding.id == REDIRECTION and finding.state is State.PASS:
            yield finding.reason


def _word(finding: Finding) -> str:
    """Return the word for a finding's state; what is only for information does not FAIL."""
    informs = finding.severity is Severity.INFO
    match finding.state:
        case State.PASS:
            return _PASS
        case State.PENDING:
            return _PENDING
        case State.NOT_APPLICABLE:
            return _NOT_APPLICABLE
        case State.SKIP:
            return _NOT_ASKED if finding.waiver is None else _WAIVED
        case State.FAIL:
            return _NOTE if informs else _FAIL
        case State.ERROR:
            return _NOTE if informs else _NOT_READ


def _rank(finding: Finding) -> tuple[int, bool]:
    """Return how far down it stands among its like: by weight, lost isolation first."""
    return (list(Severity).index(finding.severity), not finding.id.startswith(_LOUDEST))


def _apart(finding: Finding) -> tuple[str, str]:
    """Return what findings share that differ in their subject alone.

    Of what could not be read the reason is enough, without the address that it begins with.
    """
    if _word(finding) == _NOT_READ:
        return ("", finding.reason.removeprefix(f"{finding.subject.address}: "))
    return (finding.id, finding.reason)


def _only_informs(finding: Finding) -> bool:
    return finding.severity is Severity.INFO and _word(finding) in (_NOTE, _NOT_APPLICABLE)


def _fold(informing: Sequence[Finding]) -> Iterable[str]:
    """Yield a line for each id, and how to be told the rest."""
    for (word, finding_id), same in groupby(informing, key=lambda f: (_word(f), f.id)):
        alike = list(same)
        reasons = list(dict.fromkeys(finding.reason for finding in alike))
        times = f"{len(alike)} times: " if len(alike) > 1 else ""
        more = ", and alike" if len(reasons) > 1 else ""
        yield f"{word}  {finding_id}  {times}{reasons[0]}{more}"
    yield "  pcietune audit --notes tells all of them"


def _block(alike: Sequence[Finding], told: set[Remedy]) -> Iterable[str]:
    """Yield findings that differ in nothing but their subject; ``told`` gets their remedies."""
    first = alike[0]
    ids = list(dict.fromkeys(finding.id for finding in alike))
    more = f" and {len(ids) - 1} more" if len(ids) > 1 else ""
    weight = f" ({first.severity})" if _word(first) in (_FAIL, _NOT_READ) else ""
    yield f"{_word(first)}  {ids[0]}{more}{weight}"
    if first.waiver is not None:
        ticket = f", {first.waiver.ticket}" if first.waiver.ticket else ""
        yield f"  until {first.waiver.expires}{ticket}: {first.waiver.reason}"
    _, reason = _apart(first)
    if reason:
        yield f"  {reason}"
    yield from dict.fromkeys(_line(finding) for finding in alike)
    remedies = list(dict.fromkeys(f.remedy for f in alike if f.remedy is not None))
    for remedy in remedies[:_MOST_REMEDIES]:
        long = len(remedy.command) > _LONG_REMEDY and remedy in told
        yield f"  {remedy.kind}: {'as above' if long else remedy.command}"
        told.add(remedy)
    if len(remedies) > _MOST_REMEDIES:
        yield f"  and {len(remedies) - _MOST_REMEDIES} alike: --json has every one"


def _line(finding: Finding) -> str:
    """Return what is told of one of several findings alike."""
    subject = finding.subject
    where = subject.path if subject.address is None else f"{subject.address}  {subject.path}"
    if _word(finding) == _NOT_READ:
        return f"    {where}"
    wanted = "" if finding.state is State.PASS else f", wanted {finding.wanted.text}"
    return f"    {where}  {finding.found.text}{wanted}"


def _counted(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"
