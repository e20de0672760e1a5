"""Judge the BARs through which peers reach the memory of GPUs."""

from pcietune.errors import ConfigSpaceError
from pcietune.model.access import HostAccess
from pcietune.model.bars import Bar, bars_of
from pcietune.model.finding import Finding, Remedy, RemedyKind, State, Subject, Value
from pcietune.model.function import PciFunction
from pcietune.model.severity import Severity
from pcietune.model.switch_group import SwitchGroup

ID = "gpu.bar1"

_GIBIBYTE = 1 << 30  # what a GPU shows without Resizable BAR is at most half of it
_WANTED = Value("1 GiB or more, with an address", str(_GIBIBYTE))
_ROOM = Remedy(
    RemedyKind.BIOS,
    "switch on Above 4G Decoding and give it more high MMIO in the firmware's setup",
)
_RESIZE = Remedy(
    RemedyKind.BIOS,
    "switch on Above 4G Decoding and Resizable BAR in the firmware's setup; A40, L40 and alike "
    "need displaymodeselector for it, too",
)


def judge_bars(host: HostAccess, group: SwitchGroup) -> list[Finding]:
    """Judge the largest memory BAR of each GPU; costs no configuration cycle."""
    return [_judge(host, gpu) for gpu in group.gpus]


def _judge(host: HostAccess, gpu: PciFunction) -> Finding:
    resource = host.attribute(gpu, "resource")
    try:
        bars = None if resource is None else bars_of(resource)
    except ValueError:
        bars = None
    if bars is None:
        error = ConfigSpaceError(f"{gpu.address}: its BARs are not known: no sysfs resource file")
        return Finding.unread(ID, Subject.of(gpu), _WANTED, error, Severity.INFO)
    largest = max((b for b in bars if b.is_large_memory), key=lambda b: b.size, default=None)
    if largest is None:
        found = Value("no 64-bit prefetchable BAR")
        reason = "it has none, so peers have no way to its memory"
        return Finding(ID, Subject.of(gpu), Severity.INFO, State.FAIL, found, _WANTED, reason)
    return _judge_bar(gpu, largest)


def _judge_bar(gpu: PciFunction, bar: Bar) -> Finding:
    severity, state, remedy, reason = Severity.INFO, State.PASS, None, ""
    if not bar.assigned:
        severity, state, remedy = Severity.WARNING, State.FAIL, _ROOM
        reason = f"its BAR of {_size(bar.size)} has no address, so nobody reaches its memory"
    elif bar.size < _GIBIBYTE:
        state, remedy = State.FAIL, _RESIZE
        reason = f"peers reach only {_size(bar.size)} of its memory at a time"
    found = Value(_size(bar.size), str(bar.size))
    return Finding(ID, Subject.of(gpu), severity, state, found, _WANTED, reason, remedy)


def _size(size: int) -> str:
    for power, unit in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        if size >= 1 << power:
            return f"{size >> power} {unit}"
    return f"{size} bytes"
