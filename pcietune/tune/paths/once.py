"""What a host is as once its profile holds: the overlay over what it is now."""

from collections.abc import Collection, Mapping

from pcietune.address import PciAddress
from pcietune.model.function import PciFunction
from pcietune.model.profile import AcsWant, IommuPolicy, ModeName
from pcietune.tune.audit.audit import Audit
from pcietune.tune.audit.duties import modes_of
from pcietune.tune.paths.sender import Sender
from pcietune.tune.paths.senders import Senders
from pcietune.tune.paths.view import PeerKind


def wanted_controls(audited: Audit) -> Mapping[PciAddress, tuple[AcsWant, ...]]:
    """Return what the profile wants of ports, by port; not what it trusts nobody below with."""
    wanted: dict[PciAddress, tuple[AcsWant, ...]] = {}
    for bit in audited.bits:
        if bit.requirement.trusted:
            port = bit.requirement.placed.port.address
            wanted[port] = (*wanted.get(port, ()), bit.requirement.want)
    return wanted


class SendersOnce:
    """Tells what functions send once the profile holds."""

    def __init__(self, audited: Audit, guests: Collection[PciAddress], senders: Senders) -> None:
        """Look at nothing yet.

        Args:
            audited: The host, judged.
            guests: What VMs are given.
            senders: Tells what functions send now.
        """
        self._guests = guests
        self._senders = senders
        self._modes = modes_of(audited.yardstick, audited.roles, audited.groups)
        self._iommu = {name: mode.iommu for name, mode in audited.profile.modes.items()}

    def __call__(self, function: PciFunction, kind: PeerKind) -> Sender:
        """Return what a function sends, which is what it sends now if nothing is wanted of it."""
        if function.address in self._guests:
            return self._senders.for_vms(function, nic=kind is PeerKind.NIC)
        mode = self._modes.get(function.address)
        untranslated = (
            mode is ModeName.BAREMETAL and self._iommu.get(mode) is IommuPolicy.OFF_OR_PASSTHROUGH
        )
        return self._senders.on_bare_metal(function) if untranslated else self._senders(function)
