"""A second way to find where a packet ends: tokens, handed from port to port by address windows.

It knows nothing of lowest common components. Every endpoint has an address, every bridge a window
from the lowest to the highest address below it, as firmware gives them; what a port receives from
below it hands on by looking the address (or, of a completion, the bus) up in the windows. It is
written from PCIe r7.0, sections 6.12.1.1 and 6.12.3, and not from ``pcietune.model.route``.

A kernel's I/O virtual address falls into no window. A guest's may fall into any, so all are tried:
what comes out is the set of places where the packet can end.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import product
from typing import Self

from pcietune.address import PciAddress
from pcietune.model.function import PciFunction
from pcietune.model.packet import AddressSpace, Packet, PacketKind
from pcietune.registers.acs import AcsControl as Acs

_NO_CONTROL = Acs(0)
_NOWHERE = 1 << 20  # an address in no window


class End(Enum):
    """Where a token ended, and how it came there."""

    SHORTEST = "at the target, and never sent up where it could have gone across"
    TURNED = "at the target, sent up and turned by a port higher up"
    ROOT = "at the target, by way of the root complex"
    VIOLATION = "an ACS violation"
    FAULT = "the IOMMU does not map it"
    ELSEWHERE = "at another function, or at none, by an address that meant something else"


@dataclass(frozen=True)
class SimulatedAcs:
    """The ACS of one port: what is on, and to whom P2P Egress Control closes the way."""

    on: Acs = _NO_CONTROL
    closed: frozenset[PciAddress] = frozenset()


@dataclass
class _Node:
    """A function in the tree; the root complex is the one without an address."""

    address: PciAddress | None
    above: Self | None = None
    below: list[Self] = field(default_factory=list)
    low: int = _NOWHERE
    high: int = -1

    def claims(self, where: int) -> bool:
        return self.low <= where <= self.high


@dataclass(frozen=True)
class _Sent:
    packet: Packet
    where: int
    virtual: bool
    mapped: bool

    @property
    def asks_before(self) -> bool:
        """Whether a request for a translation goes ahead."""
        asks = self.packet.translated is True and not self.packet.forged
        return asks and self.packet.kind is not PacketKind.COMPLETION


@dataclass(frozen=True)
class _Token:
    at: _Node
    redirected: bool = False


class Simulator:
    """A machine of root ports, switches and endpoints, all in one root complex.

    Bridges at even depth below the root complex have ACS (root and downstream ports); those at odd
    depth are upstream ports, and have none.
    """

    def __init__(
        self, functions: Iterable[PciFunction], acs: Mapping[PciAddress, SimulatedAcs]
    ) -> None:
        self._acs = acs
        self._root = _Node(None)
        self._nodes: dict[PciAddress, _Node] = {}
        ordered = sorted(functions, key=lambda f: (*f.ports, f.address))
        for one in sorted(ordered, key=lambda f: len(f.ports)):
            above = self._nodes[one.ports[-1]] if one.ports else self._root
            node = _Node(one.address, above)
            above.below.append(node)
            self._nodes[one.address] = node
        self._next = 0
        self._number(self._root)

    def _number(self, node: _Node) -> None:
        if not node.below:
            node.low = node.high = self._next
            self._next += 1
        for one in node.below:
            self._number(one)
            node.low, node.high = min(node.low, one.low), max(node.high, one.high)

    def ends(self, source: PciAddress, target: PciAddress, packet: Packet) -> set[End]:
        """Return every place where a packet can end."""
        sender, goal = self._nodes[source], self._nodes[target]
        if packet.kind is PacketKind.COMPLETION:
            spaces = {AddressSpace.PHYSICAL}
        elif packet.address is AddressSpace.UNKNOWN:
            spaces = {AddressSpace.PHYSICAL, AddressSpace.KERNEL, AddressSpace.GUEST}
        else:
            spaces = {packet.address}
        maps = {True, False} if packet.mapped is None else {packet.mapped}
        ends: set[End] = set()
        for space, mapped in product(spaces, maps):
            for where in self._addresses(space, goal):
                sent = _Sent(packet, where, space is not AddressSpace.PHYSICAL, mapped)
                ends.add(self._run(sender, goal, sent))
        return ends

    def _addresses(self, space: AddressSpace, goal: _Node) -> Iterable[int]:
        if space is AddressSpace.PHYSICAL:
            return (goal.low,)
        if space is AddressSpace.KERNEL:
            return (_NOWHERE,)
        return (*range(self._next), _NOWHERE)

    def _run(self, sender: _Node, goal: _Node, sent: _Sent) -> End:
        if sent.asks_before and self._asks_in_vain(sender):
            return End.VIOLATION
        if sent.asks_before and not sent.mapped:
            return End.FAULT
        token = _Token(_above(sender))
        while token.at is not self._root:
            stopped = sent.packet.forged and self._blocks_translated(token.at)
            result = End.VIOLATION if stopped else self._from_below(token, sent)
            if isinstance(result, _Node):  # it goes down there, and windows lead it on
                token = replace(token, at=result)
                break
            if isinstance(result, End):
                return End.ELSEWHERE if sent.virtual else result
            token = result
        if token.at is self._root:
            return End.FAULT if sent.virtual and not sent.mapped else End.ROOT
        if sent.virtual or self._leaf(token.at, sent.where) is not goal:
            return End.ELSEWHERE
        return End.TURNED if token.redirected else End.SHORTEST

    def _asks_in_vain(self, sender: _Node) -> bool:
        """Return whether a request for a translation is an ACS violation on its way up."""
        port = sender.above
        while port is not None and port is not self._root:
            if self._blocks_translated(port):
                return True
            port = port.above
        return False

    def _blocks_translated(self, port: _Node) -> bool:
        is_checked = self._depth(port) % 2 == 0
        return is_checked and Acs.TRANSLATION_BLOCKING in self._of(port).on

    def _of(self, port: _Node) -> SimulatedAcs:
        return self._acs.get(_address(port), SimulatedAcs())

    def _from_below(self, token: _Token, sent: _Sent) -> _Token | _Node | End:
        """Return what becomes of a token: who has it next, where it goes down, or its end."""
        port, where = token.at, sent.where
        up = _Token(_above(port), token.redirected)
        if self._depth(port) % 2:  # an upstream port, which only passes it on
            return up
        if up.at is self._root and sent.virtual:
            return up  # VT-d: remapped first, and decoded after
        if port.claims(where):
            return up if Acs.UPSTREAM_FORWARDING in self._of(port).on else port
        peer = next((p for p in up.at.below if p is not port and p.claims(where)), None)
        if peer is None:
            return up
        if up.at is self._root:
            return up  # across root ports is the root complex, too
        result = self._towards(peer, self._of(port), sent)
        return replace(up, redirected=True) if result is None else result

    def _towards(self, peer: _Node, acs: SimulatedAcs, sent: _Sent) -> _Node | End | None:
        """Return what ACS makes of what is for a peer; None if it goes up instead."""
        if sent.packet.kind is PacketKind.COMPLETION:
            stays = Acs.P2P_COMPLETION_REDIRECT not in acs.on or sent.packet.relaxed_ordering
            return peer if stays else None
        if sent.packet.translated and Acs.DIRECT_TRANSLATED_P2P in acs.on:
            return peer
        if Acs.P2P_EGRESS_CONTROL in acs.on:
            if _address(peer) not in acs.closed:
                return peer
            return None if Acs.P2P_REQUEST_REDIRECT in acs.on else End.VIOLATION
        return None if Acs.P2P_REQUEST_REDIRECT in acs.on else peer

    @staticmethod
    def _leaf(node: _Node, where: int) -> _Node:
        while node.below:
            node = next(n for n in node.below if n.claims(where))
        return node

    def _depth(self, node: _Node) -> int:
        """Return how many bridges are above."""
        depth = 0
        while node.above is not None and node.above is not self._root:
            depth, node = depth + 1, node.above
        return depth


def _above(node: _Node) -> _Node:
    assert node.above is not None
    return node.above


def _address(node: _Node) -> PciAddress:
    assert node.address is not None
    return node.address
