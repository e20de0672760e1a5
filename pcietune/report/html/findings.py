"""The findings of the page: what is worst first, those that differ in their subject together."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from pcietune.model.finding import Finding, Remedy, State
from pcietune.model.severity import Severity
from pcietune.report.html.anchors import of_function

_TOLD = (State.ERROR, State.FAIL, State.PENDING)


@dataclass(frozen=True, slots=True)
class About:
    """One subject of findings that are alike.

    Attributes:
        name: Its address, or what else it is called.
        anchor: Id of its box; None if it has none.
        found: What is there.
        wanted: What should be.
    """

    name: str
    anchor: str | None
    found: str
    wanted: str


@dataclass(frozen=True, slots=True)
class Block:
    """Findings that differ in their subject alone.

    Attributes:
        id: As ``pcietune explain`` takes it.
        word: Their state.
        severity: How much they matter.
        reason: Why.
        about: Their subjects.
        remedies: What to do, each once.
    """

    id: str
    word: str
    severity: str
    reason: str
    about: tuple[About, ...]
    remedies: tuple[Remedy, ...]


def blocks(findings: Iterable[Finding]) -> Iterator[Block]:
    """Yield what is not as wanted, or could not be read."""
    told = [finding for finding in findings if finding.state in _TOLD]
    for _, alike in groupby(sorted(told, key=_rank), key=_rank):
        group = list(alike)
        first = group[0]
        informs = first.severity is Severity.INFO and first.state is State.FAIL
        yield Block(
            first.id,
            "note" if informs else "not read" if first.state is State.ERROR else first.state,
            first.severity,
            first.reason,
            tuple(map(_about, group)),
            tuple(dict.fromkeys(f.remedy for f in group if f.remedy is not None)),
        )


def _rank(finding: Finding) -> tuple[bool, int, int, str, str]:
    """Return how far down it stands: what only informs last, then by state and weight."""
    weight = list(Severity).index(finding.severity)
    informs = finding.severity is Severity.INFO
    return (informs, _TOLD.index(finding.state), weight, finding.id, finding.reason)


def _about(finding: Finding) -> About:
    address = finding.subject.address
    return About(
        finding.subject.path if address is None else str(address),
        None if address is None else of_function(address),
        finding.found.text,
        finding.wanted.text,
    )
