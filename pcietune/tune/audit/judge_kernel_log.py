"""Judge what the kernel logged in this boot: functions that do not answer the IOMMU."""

from collections.abc import Mapping, Sequence

from pcietune.address import PciAddress
from pcietune.model.fabric import Fabric
from pcietune.model.finding import HOST, Finding, Remedy, RemedyKind, State, Subject, Value
from pcietune.model.function import PciFunction
from pcietune.model.kernel_log import LogEvent, LogEventKind, LogLine, source_text
from pcietune.model.role_name import RoleName
from pcietune.model.severity import Severity
from pcietune.tune.audit.kernel_log import read_log

TIMEOUT = "device.invalidation-timeout"

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

    None of them says nothing good: the log's buffer is small, and may have been overwritten.

    Args:
        fabric: The host's functions.
        roles: Which of them are GPUs, NICs ...
        log: The kernel's log; None if it is not readable, as of a recording.
    """
    timeouts: dict[PciFunction | str, list[LogEvent]] = {}
    for event in read_log(log or ()):
        if event.kind is LogEventKind.INVALIDATION_TIMEOUT:
            timeouts.setdefault(_culprit(fabric, event), []).append(event)
    return [_finding(culprit, events, roles) for culprit, events in timeouts.items()]


def _culprit(fabric: Fabric, event: LogEvent) -> PciFunction | str:
    """Return the function that an event means, or how far it is told."""
    if event.address is not None:
        return fabric.functions.get(event.address) or str(event.address)
    if event.source is None:
        return "a function that the log does not name"
    named = source_text(event.source)
    fitting = [f for f in fabric.functions.values() if str(f.address).endswith(f":{named}")]
    return fitting[0] if len(fitting) == 1 else f"{named}, in a domain that the log does not name"


def _finding(
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
