"""Judge what the kernel logged in this boot: broken ATS, and what ports stopped."""

from collections import Counter
from collections.abc import Mapping, Sequence

from pcietune.address import PciAddress
from pcietune.model.fabric import Fabric
from pcietune.model.finding import HOST, Finding, Remedy, RemedyKind, State, Subject, Value
from pcietune.model.function import PciFunction
from pcietune.model.kernel_log import LogEvent, LogEventKind, LogLine, Violation, source_text
from pcietune.model.role_name import RoleName
from pcietune.model.severity import Severity
from pcietune.tune.audit.kernel_log import read_log

TIMEOUT = "device.invalidation-timeout"
STOPPED = "port.acs-violations-logged"

_WORDS = {
    Violation.UNNUMBERED: "by a function that was just plugged in and had no bus number yet",
    Violation.MESSAGE: "a message, no request to a peer",
    Violation.PEER_REQUEST: "a request to a peer",
    Violation.NOT_TOLD: "not told, as the log has no header of it",
}
_HARMLESS = (Violation.UNNUMBERED, Violation.MESSAGE)
_NO_REQUEST = Value("no request to a peer stopped")
_ANSWERS = Value("every invalidation answered")
_SECOND_US = 1_000_000
_REASON = (
    "it keeps translations that the IOMMU took back: its ATS is broken, unless it was reset or "
    "pulled at that moment"
)


def judge_kernel_log(
    fabric: Fabric, roles: Mapping[PciAddress, RoleName], log: Sequence[LogLine] | None
) -> list[Finding]:
    """Return a finding for each function that let an invalidation time out in this boot.

    And one for each port that stopped something because of ACS. None of them says nothing good:
    the log's buffer is small, and may have been overwritten.

    Args:
        fabric: The host's functions.
        roles: Which of them are GPUs, NICs ...
        log: The kernel's log; None if it is not readable, as of a recording.
    """
    timeouts: dict[PciFunction | str, list[LogEvent]] = {}
    stopped: dict[PciFunction, list[LogEvent]] = {}
    for event in read_log(log or ()):
        if event.kind is LogEventKind.INVALIDATION_TIMEOUT:
            timeouts.setdefault(_culprit(fabric, event), []).append(event)
        port = None if event.address is None else fabric.functions.get(event.address)
        if event.kind is LogEventKind.ACS_VIOLATION and port is not None:
            stopped.setdefault(port, []).append(event)
    findings = [_timed_out(culprit, events, roles) for culprit, events in timeouts.items()]
    return findings + [_stopped(port, events) for port, events in stopped.items()]


def _culprit(fabric: Fabric, event: LogEvent) -> PciFunction | str:
    """Return the function that an event means, or how far it is told."""
    if event.address is not None:
        return fabric.functions.get(event.address) or str(event.address)
    if event.source is None:
        return "a function that the log does not name"
    named = source_text(event.source)
    fitting = [f for f in fabric.functions.values() if str(f.address).endswith(f":{named}")]
    return fitting[0] if len(fitting) == 1 else f"{named}, in a domain that the log does not name"


def _timed_out(
    culprit: PciFunction | str, events: Sequence[LogEvent], roles: Mapping[PciAddress, RoleName]
) -> Finding:
    times = f"{len(events)} time-out{'' if len(events) == 1 else 's'}"
    last = events[-1]
    when = f"last {last.at_us / _SECOND_US:.1f} s after the boot began: {last.text.strip()}"
    if isinstance(culprit, PciFunction):
        subject, who = Subject.of(culprit), str(culprit.address)
        ours = culprit.address in roles
    else:
        subject, who, ours = HOST, culprit, False
    return Finding(
        TIMEOUT,
        subject,
        Severity.ERROR if ours else Severity.WARNING,
        State.FAIL,
        Value(f"{times} of {who}", str(len(events))),
        _ANSWERS,
        f"{_REASON}; {when}",
        Remedy(
            RemedyKind.HARDWARE,
            "update its firmware; until then switch its ATS off there (ATS_ENABLED of a ConnectX), "
            "or boot with pci=noats, which costs every function its ATS",
        ),
    )


def _stopped(port: PciFunction, events: Sequence[LogEvent]) -> Finding:
    """Return what a port stopped; what was sent before a bus number was there does no harm."""
    counts = Counter(_what(event) for event in events)
    harmless = all(event.violation in _HARMLESS for event in events)
    return Finding(
        STOPPED,
        Subject.of(port),
        Severity.INFO,
        State.PASS if harmless else State.FAIL,
        Value(", ".join(f"{count} x {what}" for what, count in counts.items()), str(len(events))),
        _NO_REQUEST,
        ""
        if harmless
        else "it stopped a request that came translated while TransBlk is on, or bore a bus number "
        f"from elsewhere; last {events[-1].at_us / _SECOND_US:.1f} s after the boot began",
    )


def _what(event: LogEvent) -> str:
    what = _WORDS[event.violation or Violation.NOT_TOLD]
    return what if event.source is None else f"{what} (from {source_text(event.source)})"
