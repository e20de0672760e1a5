"""What a run found out and did, as plain lines for people; failures first."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby

from pcietune.model.finding import Finding, Remedy, State
from pcietune.model.severity import Severity
from pcietune.report.outcome import Outcome
from pcietune.tune.judge_redirection import ID as REDIRECTION

_FIRST_TO_LAST = (State.ERROR, State.FAIL, State.PENDING, State.SKIP, State.NOT_APPLICABLE)
_LONG_REMEDY = 200  # characters; told once
_MOST_REMEDIES = 2  # of findings that differ in their subject only
_NOT_READ = "NOT READ"
_NOTE = "note"
_WORDS = {
    State.PASS: "pass",
    State.FAIL: "FAIL",
    State.PENDING: "PENDING",
    State.ERROR: _NOT_READ,
    State.SKIP: "skipped",
    State.NOT_APPLICABLE: "not applicable",
}


def heading(outcome: Outcome) -> Iterable[str]:
    """Yield what the host is and how it is judged."""
    platform = outcome.platform
    if platform is not None:
        dmi = platform.dmi
        names = " ".join(filter(None, (dmi.get("sys_vendor"), dmi.get("product_name"))))
        yield f"host     {names or 'not named by its firmware'}, kernel {platform.kernel or '?'}"
    if outcome.match is not None:
        why = "; ".join(outcome.match.why)
        yield f"profile  {outcome.match.profile.name}: {why}"
    if outcome.mode is not None:
        yield f"mode     {outcome.mode}"
    if outcome.disabled is not None:
        yield f"disabled {outcome.disabled}"
    if outcome.nothing_here:
        yield "There is no GPU on this host: nothing here for pcietune."


def status(outcome: Outcome) -> Iterable[str]:
    """Yield which ways are open, and how many findings there are of each kind."""
    if outcome.enforce is not None:
        yield f"enforce  {outcome.enforce}"
    if outcome.channels is not None:
        ways = outcome.channels
        for name, way in (
            ("registers", ways.registers),
            ("group type", ways.group_type),
            ("config_acs", ways.config_acs),
            ("firmware", ways.firmware),
        ):
            yield f"channel  {name}: {way.state} ({way.reason})"
    for line in _summary(outcome):
        yield f"judged   {line}"


def findings(outcome: Outcome, *, passes: bool) -> Iterable[str]:
    """Yield what is not as wanted, what could not be read, and the count of each state.

    Args:
        outcome: The run.
        passes: Whether to list what is as wanted, too.
    """
    if outcome.audit is None:
        return
    judged = outcome.audit.findings
    if not passes:
        judged = tuple(f for f in judged if f.state is not State.PASS)
    order = (*_FIRST_TO_LAST, State.PASS)
    ranked = sorted(judged, key=lambda f: (order.index(f.state), _rank(f), _subject_apart(f)))
    told: set[Remedy] = set()
    for _, alike in groupby(ranked, key=lambda f: (f.state, f.severity, _subject_apart(f))):
        yield ""
        yield from _block(list(alike), told)
    yield ""
    yield from _summary(outcome)


def _rank(finding: Finding) -> int:
    return list(Severity).index(finding.severity)


def _subject_apart(finding: Finding) -> tuple[str, str]:
    """Return what findings share that differ in their subject alone.

    Of what could not be read the reason is enough, without the address that it begins with.
    """
    if finding.state is State.ERROR:
        return ("", finding.reason.removeprefix(f"{finding.subject.address}: "))
    return (finding.id, finding.reason)


def _word(finding: Finding) -> str:
    """Return the word for a finding's state; what is only for information does not FAIL."""
    if finding.state is State.FAIL and finding.severity is Severity.INFO:
        return _NOTE
    return _WORDS[finding.state]


def _block(alike: Sequence[Finding], told: set[Remedy]) -> Iterable[str]:
    """Yield findings that differ in nothing but their subject; ``told`` gets their remedies."""
    first = alike[0]
    ids = list(dict.fromkeys(finding.id for finding in alike))
    more = f" and {len(ids) - 1} more" if len(ids) > 1 else ""
    weight = f" ({first.severity})" if _word(first) in (_WORDS[State.FAIL], _NOT_READ) else ""
    yield f"{_word(first)}  {ids[0]}{more}{weight}"
    _, reason = _subject_apart(first)
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
    if finding.state is State.ERROR:
        return f"    {where}"
    wanted = "" if finding.state is State.PASS else f", wanted {finding.wanted.text}"
    return f"    {where}  {finding.found.text}{wanted}"


def _summary(outcome: Outcome) -> Iterable[str]:
    if outcome.audit is None:
        return
    words = Counter(_word(finding) for finding in outcome.audit.findings)
    order = [_WORDS[State.PASS], *(_WORDS[state] for state in _FIRST_TO_LAST), _NOTE]
    counts = ", ".join(f"{words[word]} {word}" for word in order if words[word])
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


def _counted(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"
