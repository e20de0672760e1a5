"""Judge whether GPUs and NICs may set Relaxed Ordering, which spares completions the detour.

CmpltRedir sends up to the root complex only completions without Relaxed Ordering, and a completion
bears what its request bore. A port elsewhere pays no heed, so that bare metal is not asked.
"""

from pcietune.errors import PcietuneError
from pcietune.model.access import HostAccess
from pcietune.model.fabric import Fabric
from pcietune.model.finding import Finding, Remedy, RemedyKind, State, Subject, Value
from pcietune.model.function import PciFunction
from pcietune.model.profile import ModeName
from pcietune.model.quirks import quirk_of
from pcietune.model.severity import Severity
from pcietune.model.switch_group import SwitchGroup
from pcietune.registers.device_control import DeviceControl

ID = "device.relaxed-ordering"

_ON, _OFF = "RlxdOrd+", "RlxdOrd-"
_WANTED = Value(_ON, None, (_ON,))


def judge_device_control(
    host: HostAccess, fabric: Fabric, group: SwitchGroup, mode: ModeName
) -> list[Finding]:
    """Judge Enable Relaxed Ordering of each GPU and NIC that VMs get."""
    if mode is not ModeName.VM:
        return []
    return [_judge(host, fabric, function) for function in (*group.gpus, *group.nics)]


def _judge(host: HostAccess, fabric: Fabric, function: PciFunction) -> Finding:
    try:
        device = DeviceControl.find(host.config(function))
        if device is None:
            return _finding(function, State.NOT_APPLICABLE, Value("no PCI Express capability"), "")
        on = device.relaxed_ordering
        control = device.control
    except PcietuneError as error:
        return Finding.unread(ID, Subject.of(function), _WANTED, error, Severity.INFO)
    bit = _ON if on else _OFF
    found = Value(f"{bit} in DevCtl {control:#06x}", f"{control:#06x}", (bit,))
    root = next(iter(fabric.ports_above(function)), None)
    quirk = None if root is None else quirk_of(root)
    if root is not None and quirk is not None and quirk.unrelaxed:
        reason = f"not judged: {root.address} is {quirk.says}"
        return _finding(function, State.NOT_APPLICABLE, found, reason)
    if on:
        return _finding(function, State.PASS, found, "")
    reason = (
        "what it reads from peers comes back without Relaxed Ordering, and such completions go "
        "up to the root complex where CmpltRedir is on"
    )
    remedy = Remedy(
        RemedyKind.SOFTWARE,
        f"setpci -s {function.address} CAP_EXP+8.w=10:10 while nothing uses it; the firmware's "
        "setup (PCIe Relaxed Ordering) makes it last",
    )
    return _finding(function, State.FAIL, found, reason, remedy)


def _finding(
    function: PciFunction, state: State, found: Value, reason: str, remedy: Remedy | None = None
) -> Finding:
    subject = Subject.of(function)
    return Finding(ID, subject, Severity.INFO, state, found, _WANTED, reason, remedy)
