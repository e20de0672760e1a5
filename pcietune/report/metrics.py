"""What an audit found as metrics in Prometheus' text format, for node_exporter's textfiles.

https://prometheus.io/docs/instrumenting/exposition_formats/: no sample has a time of its own, which
the collector would refuse.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pcietune import __version__
from pcietune.model.finding import Finding, State
from pcietune.model.severity import Severity
from pcietune.report.outcome import Outcome
from pcietune.report.printable import printable

_LAST_SUCCESS = "pcietune_last_success_timestamp_seconds"
_EARLIER = re.compile(rf"^{_LAST_SUCCESS} (\d+(?:\.\d+)?)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class _Family:
    """All samples of one name; every one is a gauge."""

    name: str
    help: str
    samples: tuple[tuple[Mapping[str, str], float], ...]

    def lines(self) -> Iterator[str]:
        """Yield the family's lines; none without a sample."""
        if not self.samples:
            return
        yield f"# HELP {self.name} {self.help}"
        yield f"# TYPE {self.name} gauge"
        for labels, value in self.samples:
            yield f"{self.name}{_in_braces(labels)} {value}"


def metrics(outcome: Outcome, *, now_s: float, earlier: str | None) -> bytes:
    """Return the file's content after a run.

    Args:
        outcome: What the run found.
        now_s: When it ended, in seconds since 1970.
        earlier: What the file held before; None if there was none. The last run that judged all of
            the host is told from there if this one did not.
    """
    lines = [line for family in _families(outcome, now_s, earlier or "") for line in family.lines()]
    return "".join(f"{line}\n" for line in lines).encode()


def _families(outcome: Outcome, now_s: float, earlier: str) -> Iterator[_Family]:
    yield _single("pcietune_build_info", "Version of pcietune.", 1, {"version": __version__})
    yield _single(
        "pcietune_last_run_timestamp_seconds", "When audit last ended, in any way.", now_s
    )
    yield _Family(
        _LAST_SUCCESS,
        "When audit last judged all of the host, as wanted or not.",
        tuple(({}, time) for time in _last_success(outcome, now_s, earlier)),
    )
    yield _single("pcietune_exit_code", "Exit code of the last audit.", int(outcome.exit_code()))
    yield _single(
        "pcietune_disabled", "Whether pcietune is switched off.", outcome.disabled is not None
    )
    if outcome.guard is not None and outcome.guard.failed_boots is not None:
        said = "Boots in a row before this one that never reached multi-user.target."
        yield _single("pcietune_failed_boots", said, outcome.guard.failed_boots)
    if outcome.match is not None:
        profile = outcome.match.profile
        labels = {"profile": profile.name, "sha256": profile.sha256}
        labels |= {"mode": outcome.mode or "", "enforce": outcome.enforce or ""}
        yield _single("pcietune_policy_info", "What the host is judged by.", 1, labels)
    yield from _of_findings(() if outcome.audit is None else outcome.audit.findings)


def _of_findings(findings: tuple[Finding, ...]) -> Iterator[_Family]:
    counts = Counter((each.id, each.state.value, each.severity.value) for each in findings)
    yield _Family(
        "pcietune_findings",
        "Findings of the last audit; severity info never makes a host differ.",
        tuple(
            ({"id": name, "state": state, "severity": severity}, count)
            for (name, state, severity), count in sorted(counts.items())
        ),
    )
    yield _Family(
        "pcietune_finding_failed",
        "Each finding of the last audit that failed, or could not be read (state error).",
        tuple(
            (_labels_of(each), 1) for each in findings if each.state in (State.FAIL, State.ERROR)
        ),
    )


def _labels_of(finding: Finding) -> dict[str, str]:
    address = finding.subject.address
    return {
        "id": finding.id,
        "state": finding.state,
        "severity": finding.severity,
        "address": "" if address is None else str(address),
        "location": finding.subject.path,
    }


def _single(name: str, told: str, value: float, labels: Mapping[str, str] | None = None) -> _Family:
    return _Family(name, told, ((labels or {}, float(value)),))


def _last_success(outcome: Outcome, now_s: float, earlier: str) -> list[float]:
    """Return when all of the host was last judged; nothing if that never was."""
    if _judged_all(outcome):
        return [now_s]
    times = [float(text) for text in _EARLIER.findall(earlier)]
    return [time for time in times[:1] if math.isfinite(time)]


def _judged_all(outcome: Outcome) -> bool:
    """Return whether nothing was left out but what --skip names for good."""
    if outcome.errors:
        return False
    if outcome.audit is None:
        return True
    selection = outcome.audit.yardstick.selection
    unread = any(
        finding.state is State.ERROR and finding.severity is not Severity.INFO
        for finding in outcome.audit.findings
    )
    return not unread and not selection.only and not selection.devices


def _in_braces(labels: Mapping[str, str]) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items()) + "}"


def _escaped(value: str) -> str:
    return printable(value).replace("\\", "\\\\").replace('"', '\\"')
