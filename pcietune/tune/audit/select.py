"""Leave out what a command line does not ask for."""

from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from pcietune.errors import BadInputError, quoted
from pcietune.model.fabric import Fabric
from pcietune.model.finding import Finding, State, Subject
from pcietune.model.selection import Selection

NOT_ASKED = "not asked for"


def select(
    findings: Sequence[Finding], selection: Selection, paths: frozenset[str]
) -> list[Finding]:
    """Return the findings, those that are not asked for as skipped: they count for nothing.

    Args:
        findings: All that were judged.
        selection: What is asked for.
        paths: Of the functions that are asked for, as ``selected_paths`` has them.
    """
    return [
        finding if _is_asked(finding, selection, paths) else _skipped(finding)
        for finding in findings
    ]


def selected_paths(selection: Selection, fabric: Fabric) -> frozenset[str]:
    """Return the locations of the functions that are asked for and of all ports above them.

    Raises:
        BadInputError: There is no function of that name.
    """
    paths: set[str] = set()
    for name in selection.devices:
        functions = fabric.functions.values()
        named = next((f for f in functions if Subject.of(f).is_named(name)), None)
        if named is None:
            raise BadInputError(
                f"there is no function {quoted(name)} here",
                hint="give its address or location as pcietune topo --all prints them",
            )
        paths |= {each.location for each in (named, *fabric.ports_above(named))}
    return frozenset(paths)


def nothing_is_asked(findings: Sequence[Finding]) -> bool:
    """Return whether there are findings, and a selection left out every one of them."""
    return bool(findings) and all(finding.reason == NOT_ASKED for finding in findings)


def _is_asked(finding: Finding, selection: Selection, paths: frozenset[str]) -> bool:
    if selection.only and not _matches(finding.id, selection.only):
        return False
    if _matches(finding.id, selection.skip):
        return False
    return not selection.devices or finding.subject.path in paths


def _matches(finding_id: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(finding_id, pattern) for pattern in patterns)


def _skipped(finding: Finding) -> Finding:
    return replace(finding, state=State.SKIP, reason=NOT_ASKED, remedy=None, waiver=None)
