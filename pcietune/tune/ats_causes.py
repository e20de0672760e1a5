"""What keeps the kernel from turning a NIC's ATS on, or makes it useless."""

from dataclasses import dataclass

from pcietune.errors import PcietuneError
from pcietune.model.access import HostAccess
from pcietune.model.fabric import Fabric
from pcietune.model.finding import Remedy, RemedyKind, State
from pcietune.model.function import FunctionState, PciFunction
from pcietune.model.platform import IommuKind
from pcietune.model.severity import Severity
from pcietune.registers.acs import AcsControl
from pcietune.registers.ats import Ats
from pcietune.registers.express import PortType
from pcietune.tune.iommu_remedies import ANSWER_TRANSLATION_REQUESTS, TURN_ON_IOMMU
from pcietune.tune.port_acs import find_acs


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a NIC's ATS is judged, and why."""

    state: State
    reason: str
    remedy: Remedy | None = None
    severity: Severity = Severity.ERROR


def hindrance(
    host: HostAccess, fabric: Fabric, function: PciFunction, state: FunctionState, ats: Ats
) -> Verdict | None:
    """Return what keeps the kernel from turning ATS on, or makes it useless; None if nothing."""
    platform = host.platform()
    if state.group is None:
        return Verdict(
            State.FAIL,
            "no IOMMU answers translation requests: none is on for this function",
            TURN_ON_IOMMU,
        )
    unit = platform.iommu_units.get(state.iommu_unit or "")
    if unit is not None and unit.device_tlb is False:
        return Verdict(
            State.FAIL,
            f"IOMMU {unit.name} has no device TLB: it answers no translation requests",
            ANSWER_TRANSLATION_REQUESTS,
        )
    if "noats" in platform.pci_options:
        return Verdict(
            State.FAIL,
            "pci=noats is on the kernel command line",
            Remedy(RemedyKind.KERNEL_ARGS, "remove pci=noats, then reboot"),
        )
    if unit is not None and unit.kind is IommuKind.INTEL and not ats.page_aligned_request:
        return Verdict(
            State.FAIL,
            "its ATS capability lacks Page Aligned Request, which Linux demands on Intel",
            Remedy(RemedyKind.FIRMWARE, "update the NIC's firmware"),
        )
    stale = _stale_parent(host, fabric, state)
    return stale or _blocking_port(host, fabric, function)


def _stale_parent(host: HostAccess, fabric: Fabric, state: FunctionState) -> Verdict | None:
    """Return why a VF cannot have ATS: its PF never got its Smallest Translation Unit."""
    if state.physical_function is None:
        return None
    parent = fabric.functions.get(state.physical_function)
    if parent is None:
        return None
    ats = Ats.find(host.config(parent))
    if ats is None or ats.enabled:
        return None
    group = host.platform().group(host.state(parent).group)
    kernel = _release(host.platform().kernel)
    if group is None or group.translates is not False or kernel is None or kernel >= (6, 12):
        return None  # from 6.12 on pci_prepare_ats() sets the PF's STU at probe
    return Verdict(
        State.FAIL,
        f"PF {parent.address} is in a domain that does not translate: kernels before 6.12 never "
        "set its STU, so its VFs get no ATS",
        Remedy(RemedyKind.KERNEL_ARGS, "boot without iommu=pt, or with kernel 6.12 or later"),
    )


def _release(kernel: str | None) -> tuple[int, int] | None:
    """Return major and minor number of a kernel release; None if it has none."""
    numbers = (kernel or "").split(".")[:2]
    if len(numbers) < 2 or not all(number.isdecimal() for number in numbers):
        return None
    return (int(numbers[0]), int(numbers[1]))


def _blocking_port(host: HostAccess, fabric: Fabric, function: PciFunction) -> Verdict | None:
    """Return the first port above that blocks translated requests, if one is known to."""
    for port in fabric.ports_above(function):
        if fabric.port_type(port) is PortType.UPSTREAM_PORT:
            continue  # TransBlk is for root and downstream ports
        try:
            acs = find_acs(host, port)
            blocks = acs is not None and AcsControl.TRANSLATION_BLOCKING in acs.enabled
        except PcietuneError:
            continue  # the port has an error of its own
        if blocks:
            return Verdict(
                State.FAIL,
                f"{port.address} above has TransBlk+: it blocks translated requests",
                Remedy(RemedyKind.KERNEL_ARGS, "see that port's finding"),
            )
    return None
