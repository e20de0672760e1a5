"""What keeps the kernel from turning a function's ATS on, or makes it useless."""

from pcietune.errors import PcietuneError
from pcietune.model.access import HostAccess
from pcietune.model.fabric import Fabric
from pcietune.model.finding import Remedy, RemedyKind, State
from pcietune.model.function import PciFunction
from pcietune.model.platform import IommuKind
from pcietune.registers.acs import AcsControl
from pcietune.registers.ats import Ats
from pcietune.registers.express import PortType
from pcietune.tune.ats.firmware import left_out_by_firmware
from pcietune.tune.ats.subject import AtsSubject
from pcietune.tune.ats.verdict import Verdict
from pcietune.tune.iommu_remedies import ANSWER_TRANSLATION_REQUESTS
from pcietune.tune.port_acs import find_acs


def hindrance(subject: AtsSubject) -> Verdict | None:
    """Return what keeps the kernel from turning ATS on, or makes it useless; None if nothing."""
    if subject.state.group is None:
        return None  # no IOMMU is on, which is judged by itself
    return hindrance_beside_ports(subject) or _blocking_port(
        subject.host, subject.fabric, subject.function
    )


def hindrance_beside_ports(subject: AtsSubject) -> Verdict | None:
    """Return the same as ``hindrance``, but for ports above that block translated requests."""
    if subject.state.group is None:
        return None
    unit = subject.unit
    if unit is not None and unit.device_tlb is False:
        return Verdict(
            State.FAIL,
            f"IOMMU {unit.name} has no device TLB: it answers no translation requests",
            ANSWER_TRANSLATION_REQUESTS,
        )
    if "noats" in subject.platform.pci_options:
        return Verdict(
            State.FAIL,
            "pci=noats is on the kernel command line",
            Remedy(RemedyKind.KERNEL_ARGS, "remove pci=noats, then reboot"),
        )
    if unit is not None and unit.kind is IommuKind.INTEL and not subject.ats.page_aligned_request:
        return Verdict(
            State.FAIL,
            "its ATS capability lacks Page Aligned Request, which Linux demands on Intel",
            Remedy(RemedyKind.FIRMWARE, "update the NIC's firmware"),
        )
    return left_out_by_firmware(subject) or _stale_parent(subject)


def _stale_parent(subject: AtsSubject) -> Verdict | None:
    """Return why a VF cannot have ATS: its PF never got its Smallest Translation Unit.

    A VF's own field is hardwired to 0 and its PF's holds; pci_enable_ats() refuses a VF whose PF
    has another than the IOMMU's (drivers/pci/ats.c).
    """
    parent, kernel = subject.physical, subject.platform.release
    if parent is None or parent == subject.function:
        return None
    ats = Ats.find(subject.host.config(parent))
    if ats is None or ats.enabled:
        return None
    group = subject.platform.group(subject.host.state(parent).group)
    if group is None or group.translates is not False or kernel is None or kernel >= (6, 12):
        return None  # from 6.12 on pci_prepare_ats() sets the PF's STU at probe
    return Verdict(
        State.FAIL,
        f"PF {parent.address} is in a domain that does not translate: kernels before 6.12 never "
        "set its STU, so its VFs get no ATS",
        Remedy(RemedyKind.KERNEL_ARGS, "boot without iommu=pt, or with kernel 6.12 or later"),
    )


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
