"""Pairs of functions as one VM has them, whoever has them now."""

from collections.abc import Iterator, Sequence
from itertools import combinations, product

from pcietune.model.access import HostAccess
from pcietune.model.fabric import Fabric
from pcietune.model.platform import IommuKind
from pcietune.tune.paths.between_gpus import between_gpus
from pcietune.tune.paths.controls import ControlsReader
from pcietune.tune.paths.flow import flow
from pcietune.tune.paths.means import Surroundings, Transport
from pcietune.tune.paths.nic_and_gpu import nic_and_gpu
from pcietune.tune.paths.nvlink import is_nvswitch
from pcietune.tune.paths.place import place
from pcietune.tune.paths.senders import Senders
from pcietune.tune.paths.view import Pair, Peer, PeerKind, Ways


def pairs_in_one_vm(
    host: HostAccess, fabric: Fabric, peers: Sequence[Peer], *, maps_peers: bool | None
) -> Iterator[tuple[Pair, Transport]]:
    """Yield the pairs of each NIC and GPU, then of each two GPUs, and what they can count on.

    Args:
        host: Where states and registers come from.
        fabric: Its functions, with port types for all bridges above the peers.
        peers: The VM's GPUs and NICs, each as itself.
        maps_peers: Whether VFIO maps the BARs of the VM's other functions for each; None if that
            is not known.
    """
    addresses = [peer.function.address for peer in peers]
    senders = Senders(host, fabric, set(addresses), dict.fromkeys(addresses, maps_peers))
    controls = ControlsReader(host, fabric)
    gpus = [peer for peer in peers if peer.kind is PeerKind.GPU]
    nics = [peer for peer in peers if peer.kind is PeerKind.NIC]
    surroundings = _surroundings(host, len(gpus))
    for one, other in (*product(nics, gpus), *combinations(gpus, 2)):
        ways = Ways(
            flow(fabric, senders(one.function), other.function, controls),
            flow(fabric, senders(other.function), one.function, controls),
        )
        nodes = (one.numa_node, other.numa_node)
        pair = Pair(one, other, place(fabric, one.function, other.function, nodes), ways, None)
        choose = nic_and_gpu if one.kind is PeerKind.NIC else between_gpus
        yield pair, choose(pair, surroundings)


def _surroundings(host: HostAccess, gpus: int) -> Surroundings:
    units = host.platform().iommu_units.values()
    return Surroundings(
        nvswitches=any(map(is_nvswitch, host.functions())),
        gpus=gpus,
        amd=any(unit.kind is IommuKind.AMD for unit in units),
    )
