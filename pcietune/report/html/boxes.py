"""The host as nested boxes: NUMA node, root complex, root port, switch, function."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pcietune.address import PciAddress
from pcietune.report.html.anchors import host_bridge, of_host_bridge
from pcietune.report.html.function_box import Box, Fold, function_box, virtual_function
from pcietune.tune.paths.view import Peer
from pcietune.tune.view.topology import Node


@dataclass(frozen=True, slots=True)
class HostBridge:
    """A part of the root complex.

    Attributes:
        anchor: Its id on the page.
        name: Domain and root bus.
        boxes: What is below it, of what matters here.
        left_out: How many functions are not shown.
    """

    anchor: str
    name: str
    boxes: tuple[Box, ...]
    left_out: int


@dataclass(frozen=True, slots=True)
class NumaNode:
    """One NUMA node.

    Attributes:
        name: For people.
        bridges: In the order of addresses.
    """

    name: str
    bridges: tuple[HostBridge, ...]


def numa_nodes(nodes: Sequence[Node], peers: Iterable[Peer]) -> tuple[NumaNode, ...]:
    """Return the boxes of what has a role or takes part in pairs, with all that is above it.

    Args:
        nodes: All of the host.
        peers: What takes part in pairs.
    """
    by_address = {peer.function.address: peer for peer in peers}

    def matters(node: Node) -> bool:
        named = node.role is not None or node.function.address in by_address
        return named or any(map(matters, node.children))

    by_bridge: dict[str, list[Node]] = {}
    for node in nodes:
        by_bridge.setdefault(host_bridge(node.function), []).append(node)
    found: dict[int | None, list[HostBridge]] = {}
    for name, tops in by_bridge.items():
        shown = [top for top in tops if matters(top)]
        if shown:
            boxes = tuple(_boxes(shown, matters, by_address))
            left_out = sum(map(_size, tops)) - sum(map(_count, boxes))
            anchor = of_host_bridge(tops[0].function)
            found.setdefault(_numa(shown), []).append(HostBridge(anchor, name, boxes, left_out))
    return tuple(
        NumaNode("NUMA node not known" if number is None else f"NUMA node {number}", tuple(bridges))
        for number, bridges in sorted(found.items(), key=lambda e: (e[0] is None, e[0] or 0))
    )


def _boxes(
    nodes: Sequence[Node], matters: Callable[[Node], bool], peers: Mapping[PciAddress, Peer]
) -> Iterator[Box]:
    """Yield the boxes of what matters or is protected, with their VFs folded into their PFs."""
    virtual: dict[PciAddress, list[Fold]] = {}
    for node in nodes:
        physical = None if node.state is None else node.state.physical_function
        if physical is not None and node.function.address not in peers:
            virtual.setdefault(physical, []).append(virtual_function(node))
    folded = {fold.address for folds in virtual.values() for fold in folds}
    for node in nodes:
        address = node.function.address
        if str(address) in folded or not (matters(node) or node.protected):
            continue
        children = tuple(_boxes(node.children, matters, peers))
        yield function_box(node, peers.get(address), children, tuple(virtual.get(address, ())))


def _numa(nodes: Iterable[Node]) -> int | None:
    """Return the first NUMA node that firmware tells of the functions; None if it tells none."""
    for node in nodes:
        if node.state is not None and (node.state.numa_node or 0) >= 0:
            return node.state.numa_node
    return None


def _size(node: Node) -> int:
    return 1 + sum(map(_size, node.children))


def _count(box: Box) -> int:
    return 1 + len(box.virtual_functions) + sum(map(_count, box.children))
