"""From functions to senders: what each puts into its requests, and what that stands on."""

from collections.abc import Container, Mapping
from dataclasses import replace

from pcietune.address import PciAddress
from pcietune.errors import PcietuneError
from pcietune.model.access import HostAccess
from pcietune.model.fabric import Fabric
from pcietune.model.finding import Remedy
from pcietune.model.function import FunctionState, PciFunction
from pcietune.model.packet import AddressSpace
from pcietune.model.platform import IommuKind
from pcietune.registers.device_control import DeviceControl
from pcietune.tune.ats.situation import Domain, situation
from pcietune.tune.paths.command_line import addresses_by_command_line
from pcietune.tune.paths.sender import Sender
from pcietune.tune.paths.translating import mended, translating

_SPACES = {
    Domain.TRANSLATING: AddressSpace.KERNEL,
    Domain.IDENTITY: AddressSpace.PHYSICAL,
    Domain.NONE: AddressSpace.PHYSICAL,
    Domain.BLOCKED: AddressSpace.KERNEL,  # of which none is mapped
    Domain.OTHER: AddressSpace.UNKNOWN,
    Domain.UNKNOWN: AddressSpace.UNKNOWN,
}


class Senders:
    """Tells what functions send; each is looked at once.

    Attributes:
        problems: What kept some registers from being read, in the order of asking.
    """

    def __init__(
        self,
        host: HostAccess,
        fabric: Fabric,
        guests: Container[PciAddress],
        mapped: Mapping[PciAddress, bool | None],
    ) -> None:
        """Look at nothing yet.

        Args:
            host: Where states and registers come from.
            fabric: Its functions.
            guests: Functions that are looked at as VMs have them, beside those that a VFIO
                driver is bound to.
            mapped: Of functions that VMs have in use, whether VFIO maps peers' BARs for them;
                None of those of which that is not known.
        """
        self.problems: list[PcietuneError] = []
        self._host = host
        self._fabric = fabric
        self._guests = guests
        self._mapped = mapped
        self._known: dict[PciAddress, Sender] = {}
        self._remedies: dict[PciAddress, Remedy] = {}

    def __call__(self, function: PciFunction) -> Sender:
        """Return what a function sends now."""
        known = self._known.get(function.address)
        if known is None:
            known = self._known[function.address] = self._look(function)
        return known

    def for_vms(self, function: PciFunction, *, nic: bool) -> Sender:
        """Return what a function sends in a VM once nothing keeps it from having ATS.

        Args:
            function: It.
            nic: Whether it is a NIC, whose firmware may have ATS switched off.
        """
        found = mended(self._host, self._fabric, function, nic=nic)
        return replace(
            self(function),
            address=AddressSpace.GUEST,
            translated=found.on,
            mapped=True,
            why=found.why,
        )

    def remedy(self, function: PciFunction) -> Remedy | None:
        """Return what gives a function the ATS that it lacks; None if nothing is known to."""
        self(function)
        return self._remedies.get(function.address)

    def on_bare_metal(self, function: PciFunction) -> Sender:
        """Return what a function sends by an identity domain, or without an IOMMU."""
        return replace(
            self(function),
            address=AddressSpace.PHYSICAL,
            translated=False,
            mapped=True,
            why="on bare metal nothing needs its ATS",
        )

    def _look(self, function: PciFunction) -> Sender:
        try:
            state = self._host.state(function)
        except PcietuneError as error:
            self.problems.append(error)
            return _vanished(function, error)
        group = self._host.platform().group(state.group)
        if group is not None and group.is_without_iommu:
            return self._without_iommu(function, state)
        guest = bool(state.vfio) or function.address in self._guests
        found = translating(self._host, self._fabric, function, state, guest=guest)
        if found.problem is not None:
            self.problems.append(found.problem)
        if found.remedy is not None:
            self._remedies[function.address] = found.remedy
        return Sender(
            function=function,
            address=AddressSpace.GUEST if guest else self._address(function, state),
            translated=found.on,
            answer=self._answer(state),
            relaxed_ordering=self._relaxed_ordering(function, state),
            mapped=self._maps(function, guest=guest),
            why=found.why,
        )

    def _without_iommu(self, function: PciFunction, state: FunctionState) -> Sender:
        """Return what VFIO's user has a function send where no IOMMU is: addresses of the host."""
        return Sender(
            function=function,
            address=AddressSpace.PHYSICAL,
            translated=False,
            answer=AddressSpace.PHYSICAL,
            relaxed_ordering=self._relaxed_ordering(function, state),
            mapped=True,
            why="VFIO has it without an IOMMU (vfio-noiommu), which its ATS would ask",
        )

    def _address(self, function: PciFunction, state: FunctionState) -> AddressSpace:
        """Return what the addresses mean that the kernel's drivers give to a function.

        What the group does not tell, as of a dump, the kernel command line may.
        """
        platform = self._host.platform()
        found = situation(platform, function, state, enabled=False, proved=False)
        space = _SPACES[found.domain]
        if space is AddressSpace.UNKNOWN:
            return addresses_by_command_line(platform, self._fabric, function, vfio=state.vfio)
        return space

    def _answer(self, state: FunctionState) -> AddressSpace:
        """Return what a translation is: host addresses, unless the IOMMU may do otherwise.

        One that is not known is taken for one of those behind which Linux turns ATS on.
        """
        unit = self._host.platform().iommu_units.get(state.iommu_unit or "")
        other = unit is not None and unit.kind is IommuKind.OTHER
        return AddressSpace.UNKNOWN if other else AddressSpace.PHYSICAL

    def _relaxed_ordering(self, function: PciFunction, state: FunctionState) -> bool | None:
        """Return whether a function may set Relaxed Ordering; a VF's PF decides for it."""
        parent = state.physical_function
        holder = function if parent is None else self._fabric.functions.get(parent)
        if holder is None:
            return None
        try:
            control = DeviceControl.find(self._host.config(holder))
        except PcietuneError:  # told as a problem with its ATS
            return None
        return None if control is None else control.relaxed_ordering

    def _maps(self, function: PciFunction, *, guest: bool) -> bool | None:
        return self._mapped.get(function.address, None if guest else True)


def _vanished(function: PciFunction, error: PcietuneError) -> Sender:
    unknown = AddressSpace.UNKNOWN
    return Sender(function, unknown, None, unknown, None, None, str(error))
