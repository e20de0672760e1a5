"""Leave out what a site has waived, and tell of waivers that are no longer any good."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from difflib import get_close_matches

from pcietune.model.finding import Finding, State, Subject, Value
from pcietune.model.settings import Waiver
from pcietune.model.severity import Severity

EXPIRED = "waiver.expired"
UNUSED = "waiver.unused"

_WAIVABLE = (State.FAIL, State.PENDING)
"""What could not be read is never waived: nobody knows what it would be."""


def waive(finding: Finding, waivers: Sequence[Waiver], today: date) -> Finding:
    """Return the finding, skipped if it fails or is pending and a waiver holds for it."""
    if finding.state not in _WAIVABLE:
        return finding
    holding = (w for w in waivers if today <= w.expires and _is_meant(finding, w))
    waiver = next(holding, None)
    if waiver is None:
        return finding
    return replace(finding, state=State.SKIP, remedy=None, waiver=waiver)


def judge_waivers(
    findings: Sequence[Finding], waivers: Sequence[Waiver], today: date
) -> list[Finding]:
    """Tell, for information, of waivers that expired and of those that waive nothing here."""
    told = []
    for waiver in waivers:
        meant = [finding for finding in findings if _is_meant(finding, waiver)]
        if waiver.expires < today:
            told.append(_expired(waiver))
        elif all(finding.state is State.PASS for finding in meant):
            told.append(_unused(waiver, _why_unused(waiver, meant, findings)))
    return told


def _is_meant(finding: Finding, waiver: Waiver) -> bool:
    return finding.id == waiver.id and (
        waiver.subject is None or finding.subject.is_named(waiver.subject)
    )


def _expired(waiver: Waiver) -> Finding:
    return Finding(
        EXPIRED,
        _subject(waiver),
        Severity.INFO,
        State.FAIL,
        Value(f"expired after {waiver.expires}", str(waiver.expires)),
        Value("a waiver that holds, or none"),
        "the waiver is over: what it waived counts again",
    )


def _why_unused(waiver: Waiver, meant: Sequence[Finding], findings: Sequence[Finding]) -> str:
    if meant:
        return "what it waives is as wanted here"
    ids = sorted({finding.id for finding in findings})
    if waiver.id in ids:
        return f"nothing of that name is judged of {waiver.subject} here"
    near = get_close_matches(waiver.id, ids, n=1)
    meaning = f"; did you mean {near[0]}?" if near else ""
    return f"nothing of that name is judged here{meaning}"


def _unused(waiver: Waiver, reason: str) -> Finding:
    return Finding(
        UNUSED,
        _subject(waiver),
        Severity.INFO,
        State.FAIL,
        Value("waives nothing"),
        Value("a waiver that waives something, or none"),
        reason,
    )


def _subject(waiver: Waiver) -> Subject:
    return Subject(f"waiver {waiver.id}" + (f" {waiver.subject}" if waiver.subject else ""))
