"""What the ACPI table DMAR says of ATS: Intel's firmware decides which root ports may have it."""

from collections.abc import Iterable
from dataclasses import dataclass

from pcietune.model.function import PciFunction


@dataclass(frozen=True, slots=True)
class DeviceScope:
    """One function, as DMAR names it.

    Attributes:
        segment: PCI Segment Group, which is Linux's domain.
        bus: Number of the root bus that the path starts from.
        path: Device and Function Number of each hop down.
    """

    segment: int
    bus: int
    path: tuple[tuple[int, int], ...]

    def names(self, function: PciFunction) -> bool:
        """Return whether ``function`` is the one (dmar_match_pci_path, intel/dmar.c)."""
        hops = (*function.ports, function.address)
        return (hops[0].domain, hops[0].bus) == (self.segment, self.bus) and self.path == tuple(
            (hop.device, hop.function) for hop in hops
        )


@dataclass(frozen=True, slots=True)
class Dmar:
    """The structures ATSR and SATC of the table.

    Attributes:
        all_ports: Segments of which an ATSR covers every root port.
        root_ports: The root ports that ATSRs name one by one.
        integrated: Functions that an SATC names.
        integrated_required: Those of them that cannot do without ATS (flag ATC_REQUIRED).
    """

    all_ports: frozenset[int]
    root_ports: tuple[DeviceScope, ...]
    integrated: tuple[DeviceScope, ...] = ()
    integrated_required: tuple[DeviceScope, ...] = ()

    def allows(self, function: PciFunction, root_port: PciFunction | None) -> bool | None:
        """Return whether Linux may turn on ATS of ``function`` (dmar_ats_supported, intel/iommu.c).

        None if not known: what an SATC calls required is left to the hardware in legacy mode.

        Args:
            function: No VF; of a VF its PF.
            root_port: The one above it; None if it is integrated into the root complex.
        """
        if _named(self.integrated_required, function):
            return None
        if root_port is None or _named(self.integrated, function):
            return True
        return root_port.address.domain in self.all_ports or _named(self.root_ports, root_port)


def _named(scopes: Iterable[DeviceScope], function: PciFunction) -> bool:
    return any(scope.names(function) for scope in scopes)
