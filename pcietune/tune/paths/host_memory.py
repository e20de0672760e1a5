"""How near the memory of NUMA nodes is to peers: copies between host and device."""

from enum import StrEnum

from pcietune.tune.paths.view import Peer


class Nearness(StrEnum):
    """What copies between a node's memory and a device cross beside the device's own links."""

    LOCAL = "local"  # nothing
    REMOTE = "between nodes"  # the link between sockets, or between the parts of one
    UNKNOWN = "?"


def nearness(peer: Peer, node: int, nodes: int | None) -> Nearness:
    """Return how near a node's memory is to a peer.

    Args:
        peer: The device.
        node: The node's number.
        nodes: How many nodes have CPUs; None if not known. With one alone all is local, and
            firmware often does not say so.
    """
    if nodes == 1:
        return Nearness.LOCAL
    if peer.numa_node is None or peer.numa_node < 0:
        return Nearness.UNKNOWN
    return Nearness.LOCAL if peer.numa_node == node else Nearness.REMOTE
