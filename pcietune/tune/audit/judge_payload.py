"""Judge the payload sizes of GPUs and NICs: what one sends, all that it passes must take.

A packet with more payload than its receiver is set to take is malformed, an error that the kernel
may answer with a reset. With pci=pcie_bus_safe the kernel sets one size for all below a root port;
with pci=pcie_bus_perf the most of each, which peers that talk to each other do not bear
(drivers/pci/probe.c, pcie_bus_configure_settings).
"""

from collections.abc import Sequence
from dataclasses import replace

from pcietune.errors import PcietuneError
from pcietune.model.access import HostAccess
from pcietune.model.fabric import Fabric
from pcietune.model.finding import Finding, Remedy, RemedyKind, State, Subject, Value
from pcietune.model.function import PciFunction
from pcietune.model.severity import Severity
from pcietune.model.switch_group import SwitchGroup
from pcietune.registers.device_control import DeviceControl

ID = "path.max-payload"

_ONE_SIZE = Remedy(RemedyKind.KERNEL_ARGS, "pci=pcie_bus_safe, then reboot")


def judge_payload(host: HostAccess, fabric: Fabric, group: SwitchGroup) -> list[Finding]:
    """Judge Max_Payload_Size of each GPU and NIC against its peers' and the ports' above it."""
    findings = []
    for functions, peers in ((group.gpus, group.nics), (group.nics, group.gpus)):
        for function in functions:
            passed = (*peers, *fabric.ports_above(function))
            try:
                findings.append(_judge(host, function, passed))
            except PcietuneError as error:
                wanted = Value("no more than is taken on its way")
                subject = Subject.of(function)
                findings.append(Finding.unread(ID, subject, wanted, error, Severity.INFO))
    return findings


def _judge(host: HostAccess, function: PciFunction, passed: Sequence[PciFunction]) -> Finding:
    """Judge one sender; what the others could take is read only where it could send more."""
    devices = {f: DeviceControl.find(host.config(f)) for f in (function, *passed)}
    sizes = {f: device.max_payload for f, device in devices.items() if device is not None}
    if function not in sizes:
        none = Value("no PCI Express capability")
        subject = Subject.of(function)
        return Finding(ID, subject, Severity.INFO, State.NOT_APPLICABLE, none, none, "")
    size = sizes[function]
    less = {f: taken for f, taken in sizes.items() if taken < size}
    finding = Finding(
        ID,
        Subject.of(function),
        Severity.INFO,
        State.PASS,
        _bytes(size),
        _bytes(min(less.values(), default=size)),
        "",
    )
    if less:
        takers = ", ".join(f"{f.address} takes {taken}" for f, taken in less.items())
        reason = f"it sends up to {size} bytes, but {takers}: more is malformed there"
        return replace(
            finding, severity=Severity.WARNING, state=State.FAIL, reason=reason, remedy=_ONE_SIZE
        )
    able = [device for device in devices.values() if device is not None]
    if any(device.max_payload_supported <= size for device in able):
        return finding
    could = min(device.max_payload_supported for device in able)
    reason = f"{size} of {could} bytes: all on its way can {could}"
    return replace(finding, state=State.FAIL, wanted=_bytes(could), reason=reason, remedy=_ONE_SIZE)


def _bytes(size: int) -> Value:
    return Value(f"{size} bytes", str(size))
