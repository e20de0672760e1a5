"""By what the pairs of a host move data, and why by nothing better."""

from collections.abc import Mapping

from pcietune.address import PciAddress
from pcietune.model.access import HostAccess
from pcietune.model.platform import IommuKind
from pcietune.tune.paths.between_gpus import between_gpus
from pcietune.tune.paths.guest_view import Guest
from pcietune.tune.paths.means import Means, Surroundings, Transport
from pcietune.tune.paths.nic_and_gpu import nic_and_gpu
from pcietune.tune.paths.nvlink import is_nvswitch
from pcietune.tune.paths.view import PathsView, PeerKind

_APART = Transport(
    Means.NONE, "they belong to different owners, and no VM has the other's memory mapped"
)


def transports(
    host: HostAccess, view: PathsView, guest: Guest | None = None
) -> Mapping[tuple[PciAddress, PciAddress], Transport]:
    """Return what each two GPUs, and each NIC and GPU, can count on; keys as of ``view.pairs``.

    Args:
        host: All of it.
        view: Its pairs.
        guest: What it is as a VM; None if it is none.
    """
    units = host.platform().iommu_units.values()
    surroundings = Surroundings(
        nvswitches=any(map(is_nvswitch, host.functions())),
        gpus=len(view.of_kind(PeerKind.GPU)),
        amd=any(unit.kind is IommuKind.AMD for unit in units),
        in_a_vm=guest is not None,
        cliques=None if guest is None else guest.cliques,
    )
    by_kind = {PeerKind.GPU: between_gpus, PeerKind.NIC: nic_and_gpu}
    return {
        key: by_kind[pair.one.kind](pair, surroundings) if pair.apart is None else _APART
        for key, pair in view.pairs.items()
        if pair.one.kind in by_kind
    }
