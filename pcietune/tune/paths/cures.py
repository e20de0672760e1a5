"""For each pair what makes it direct, with what stands on its host: who serves VMs, and ATS."""

from collections.abc import Collection
from dataclasses import dataclass, field

from pcietune.address import PciAddress
from pcietune.model.access import HostAccess
from pcietune.model.fabric import Fabric
from pcietune.model.function import PciFunction
from pcietune.model.profile import ModeName
from pcietune.model.route import ControlsOf
from pcietune.tune.paths.change import Cure, Prospect
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
    """

    host: HostAccess
    fabric: Fabric
    controls_of: ControlsOf
    senders: Senders
    guests: Collection[PciAddress]
    duty: ModeName | None
    _serve_vms: dict[PciAddress, bool] = field(default_factory=dict)
    _prospects: dict[PciAddress, Prospect] = field(default_factory=dict)

    def __call__(self, requester: Peer, flow: Flow) -> Cure:
        """Return what makes the writes of a flow direct."""
        if flow.write.is_direct:
            return Cure()
        address = requester.function.address
        known = self._prospects.get(address)
        if known is None:
            known = self._prospects[address] = self._prospect(requester)
        return cure(self.fabric, flow, self.controls_of, known)

    def _prospect(self, requester: Peer) -> Prospect:
        function = requester.function
        return Prospect(
            sender=self.senders.for_vms(function, nic=requester.kind is PeerKind.NIC),
            ats=self.senders.remedy(function),
            may_clear=self._may_clear(function),
        )

    def _may_clear(self, function: PciFunction) -> bool:
        """Return whether nothing below a function's topmost switch goes to VMs."""
        top = self.fabric.topmost_switch(function)
        if top is None or self.duty is ModeName.VM:
            return False
        serves = self._serve_vms.get(top.address)
        if serves is None:
            below = self.fabric.below(top)
            given = any(each.address in self.guests for each in below)
            serves = given or bool(given_to_vfio(self.host, below))
            self._serve_vms[top.address] = serves
        return not serves
