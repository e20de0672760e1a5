"""For each pair what makes it direct, with what stands on its host: who serves VMs, and ATS."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from pcietune.address import PciAddress
from pcietune.model.access import HostAccess
from pcietune.model.fabric import Fabric
from pcietune.model.function import PciFunction
from pcietune.model.packet import AddressSpace
from pcietune.model.profile import ModeName
from pcietune.model.route import ControlsOf
from pcietune.tune.audit.module_ids import some
from pcietune.tune.paths.change import Cure, Prospect
from pcietune.tune.paths.command_line import names_for_vfio, redirects_off
from pcietune.tune.paths.cure import cure
from pcietune.tune.paths.flow import Flow
from pcietune.tune.paths.senders import Senders
from pcietune.tune.paths.view import Peer, PeerKind
from pcietune.tune.vfio_use import given_to_vfio


@dataclass(slots=True)
class Cures:
    """Tells what makes one peer's writes to another direct.

    Attributes:
        host: Where states come from.
        fabric: Its functions.
        controls_of: The ACS of ports as it is now.
        senders: Tells what functions send now.
        guests: What VMs are given.
        duty: The host's; None if it is not known.
        duties: The mode of each function that has a role; empty where nothing is judged.
    """

    host: HostAccess
    fabric: Fabric
    controls_of: ControlsOf
    senders: Senders
    guests: Collection[PciAddress]
    duty: ModeName | None
    duties: Mapping[PciAddress, ModeName]
    _kept: dict[PciAddress, str | None] = field(default_factory=dict)
    _prospects: dict[PciAddress, Prospect] = field(default_factory=dict)

    def __call__(self, requester: Peer, flow: Flow) -> Cure:
        """Return what makes the writes of a flow direct."""
        if flow.write.is_direct:
            return Cure()
        address = requester.function.address
        if flow.sender.address is AddressSpace.GUEST and not self._goes_to_vms(flow.completer):
            return Cure(
                obstacle=f"{flow.completer.address} is not given to VMs: what a VM has stays apart "
                "from it"
            )
        known = self._prospects.get(address)
        if known is None:
            known = self._prospects[address] = self._prospect(requester)
        return cure(self.fabric, flow, self.controls_of, known)

    def _prospect(self, requester: Peer) -> Prospect:
        function = requester.function
        duty = self.duties.get(function.address, self.duty)
        return Prospect(
            sender=self.senders.for_vms(function, nic=requester.kind is PeerKind.NIC),
            ats=self.senders.remedy(function),
            kept=None if self._goes_to_vms(function) else self._why_kept(function, duty),
            duty=duty,
            redirects_off=redirects_off(self.host.platform()),
        )

    def _goes_to_vms(self, function: PciFunction) -> bool:
        """Return whether VMs are given a function, or VFs of it."""
        if self.senders(function).address is AddressSpace.GUEST:
            return True
        if self.senders(function).address is AddressSpace.UNKNOWN:
            return False
        virtual = self.host.state(function).virtual_functions
        return any(address in self.guests for address in virtual)

    def _why_kept(self, function: PciFunction, duty: ModeName | None) -> str | None:
        """Return why redirection stays on above the host's own function; None if it may go."""
        top = self.fabric.topmost_switch(function)
        if top is not None:
            if top.address not in self._kept:
                self._kept[top.address] = self._below(top)
            kept = self._kept[top.address]
            if kept is not None:
                return kept
        if duty is ModeName.VM:
            return (
                "redirection keeps apart what VMs are given here, and what the host itself sends "
                "past it has no other way"
            )
        return None

    def _below(self, top: PciFunction) -> str | None:
        """Return why VMs rely on the isolation below a switch; None if none are known to."""
        below = self.fabric.below(top)
        if given := given_to_vfio(self.host, below):
            return f"VFIO relies on the isolation below {top.address}, for {some(given)}"
        if given := [each for each in below if each.address in self.guests]:
            return f"redirection keeps apart what VMs are given below {top.address}: {some(given)}"
        platform = self.host.platform()
        if given := [each for each in below if names_for_vfio(platform, each)]:
            return (
                f"vfio-pci.ids= on the kernel command line gives {some(given)} to VMs, which rely "
                f"on the isolation below {top.address}"
            )
        return None
