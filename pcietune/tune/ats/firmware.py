"""Whether the host's firmware lets a function have ATS: DMAR on Intel, IORT on ARM."""

from pcietune.model.finding import Remedy, RemedyKind, State
from pcietune.model.platform import IommuKind
from pcietune.tune.ats.subject import AtsSubject
from pcietune.tune.ats.verdict import Verdict

_SETUP = Remedy(RemedyKind.BIOS, "switch on ATS of the PCIe root ports in the firmware's setup")
_TABLES = {IommuKind.INTEL: "DMAR ATSR", IommuKind.ARM: "IORT"}


def left_out_by_firmware(subject: AtsSubject) -> Verdict | None:
    """Return why the firmware keeps ATS from a function; None if it does not, or is not known."""
    if _allowed(subject) is not False:
        return None
    function = subject.function
    if _kind(subject) is IommuKind.ARM:
        domain = f"{function.address.domain:04x}"
        reason = f"the root complex of PCI domain {domain} has no ATS in the firmware's IORT"
    else:
        reason = f"ATS is not on for root port {function.ports[0]} in the firmware's DMAR ATSR"
    return Verdict(State.FAIL, reason, _SETUP)


def cause_of_loss(subject: AtsSubject) -> str:
    """Return why ATS may be off where the kernel would have turned it on."""
    address = subject.function.address
    cleared = f"somebody cleared {address}'s Enable bit behind the kernel's back"
    if _allowed(subject):
        return cleared
    table = _TABLES.get(_kind(subject))
    if table is None:
        return f"the IOMMU's driver had a reason that cannot be read here, or {cleared}"
    damaged = table.split()[0] in subject.platform.damaged_tables
    unread = "damaged" if damaged else "not readable here"
    return (
        f"the root port is missing in the firmware's ATS table ({table}), which is {unread}, "
        f"or {cleared}"
    )


def _allowed(subject: AtsSubject) -> bool | None:
    """Return whether the firmware lets a function have ATS; None if not known."""
    platform, physical = subject.platform, subject.physical
    match _kind(subject):
        case IommuKind.ARM if platform.root_complex_ats is not None:
            return platform.root_complex_ats.get(subject.function.address.domain)
        case IommuKind.INTEL if platform.dmar is not None and physical is not None:
            root_port = next(iter(subject.fabric.ports_above(physical)), None)
            return platform.dmar.allows(physical, root_port)
        case _:
            return None


def _kind(subject: AtsSubject) -> IommuKind:
    return IommuKind.OTHER if subject.unit is None else subject.unit.kind
