"""Judge whether ports may sleep and lose their ACS words.

A port whose runtime power management is ``auto`` is put to sleep when all below it sleeps, as idle
functions of vfio-pci do. On waking it the kernel writes its own ACS words again
(drivers/pci/pci.c, pci_restore_state), and a power cut takes DirectTrans.
"""

from dataclasses import dataclass, replace

from pcietune.errors import ConfigSpaceError
from pcietune.model.access import HostAccess
from pcietune.model.fabric import Fabric
from pcietune.model.finding import Finding, Remedy, RemedyKind, State, Subject, Value
from pcietune.model.function import PciFunction
from pcietune.model.profile import RuntimePmPolicy
from pcietune.model.severity import Severity
from pcietune.model.switch_group import SwitchGroup
from pcietune.tune.audit.path_ports import path_ports

ID = "port.runtime-pm"

_ON, _AUTO = "on", "auto"
_WANTED = Value("power/control on", _ON)
_WAKING = "on waking it the kernel writes its own ACS words again"
_APPLY = Remedy(RemedyKind.REGISTER, "pcietune apply, which keeps it awake")


@dataclass(frozen=True, slots=True)
class JudgedPower:
    """A port's runtime power management, judged.

    Attributes:
        group: Name of its switch group.
        port: The port.
        finding: How it was judged.
        control: What its sysfs power/control holds; None if not known.
        writable: Whether apply may write ``on`` there.
    """

    group: str
    port: PciFunction
    finding: Finding
    control: str | None
    writable: bool


def judge_runtime_pm(
    host: HostAccess, fabric: Fabric, group: SwitchGroup, policy: RuntimePmPolicy
) -> list[JudgedPower]:
    """Judge ``power/control`` of every port above a GPU or NIC; costs no configuration cycle."""
    if policy is RuntimePmPolicy.IGNORE:
        return []
    return [_judge(host, group, port, policy) for port in path_ports(fabric, group)]


def _judge(
    host: HostAccess, group: SwitchGroup, port: PciFunction, policy: RuntimePmPolicy
) -> JudgedPower:
    control = host.attribute(port, "power/control")
    if control not in (_ON, _AUTO):
        error = ConfigSpaceError(f"{port.address}: sysfs power/control is not known")
        finding = Finding.unread(ID, Subject.of(port), _WANTED, error, Severity.INFO)
        return JudgedPower(group.name, port, finding, control=None, writable=False)
    keep_on = policy is RuntimePmPolicy.KEEP_ON
    finding = Finding(
        ID,
        Subject.of(port),
        Severity.WARNING if keep_on else Severity.INFO,
        State.PASS,
        Value(f"power/control {control}", control),
        _WANTED,
        "",
    )
    if control == _AUTO:
        asleep = host.attribute(port, "power/runtime_status") == "suspended"
        reason = f"it {'sleeps now' if asleep else 'may sleep'} while all below is idle: {_WAKING}"
        remedy = _APPLY if keep_on else _keep_on(port)
        finding = replace(finding, state=State.FAIL, reason=reason, remedy=remedy)
    writable = keep_on and control == _AUTO
    return JudgedPower(group.name, port, finding, control=control, writable=writable)


def _keep_on(port: PciFunction) -> Remedy:
    path = f"/sys/bus/pci/devices/{port.address}/power/control"
    command = f"echo on > {path}, or runtime-pm: keep-on in the profile"
    return Remedy(RemedyKind.SOFTWARE, command)
