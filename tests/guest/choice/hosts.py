"""Stocks of small hosts: switches with GPUs and NICs, as PCI shows them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from model.functions import GPU, NIC, function

from pcietune.address import PciAddress
from pcietune.guest.chosen import Chosen
from pcietune.guest.kinds import Kind
from pcietune.guest.stock.offer import Card, Offer, Stock
from pcietune.model.function import FunctionState, PciFunction


@dataclass(frozen=True)
class Switch:
    """A switch below a root port of its own.

    Attributes:
        node: Its NUMA node.
        gpus: How many GPUs are below it.
        nics: How many NICs.
        busy: Which of the GPUs others have, and behind them which of the NICs.
        vfs: How many VFs each NIC has on.
    """

    node: int = 0
    gpus: int = 2
    nics: int = 2
    busy: frozenset[int] = frozenset()
    vfs: int = 0


def stock_of(
    switches: Sequence[Switch],
    *,
    alone: Sequence[int] = (),
    modules: Sequence[int] = (),
    total_vfs: int = 8,
) -> Stock:
    """Return what a host has.

    Args:
        switches: In the order of their root ports.
        alone: The NUMA nodes of GPUs that have a root port each, and no switch.
        modules: Module id of each GPU of the switches, in their order.
        total_vfs: How many VFs each NIC can have.
    """
    gpus, cards = [], []
    for number, switch in enumerate(switches):
        for index in range(switch.gpus + switch.nics):
            is_gpu = index < switch.gpus
            offer = _below(number, index, switch, Kind.GPU if is_gpu else Kind.NIC)
            if is_gpu:
                gpus.append(offer)
            else:
                cards.append(_card(offer, switch, total_vfs))
    for number, node in enumerate(alone):
        path = f"e0:{number:02x}.0 {0xE1 + number:02x}:00.0"
        gpus.append(_offer(function(path, GPU), Kind.GPU, node))
    return Stock(
        gpus=tuple(gpus),
        cards=tuple(cards),
        modules={gpu.address: m for gpu, m in zip(gpus, modules, strict=False)},
    )


def address(switch: int, index: int) -> PciAddress:
    """Return where the GPU or NIC of an index is below a switch."""
    return PciAddress.parse(f"{_bus(switch) + 3 + index:02x}:00.0")


def without(stock: Stock, taken: Collection[PciAddress]) -> Stock:
    """Return what is left of it once some functions are another VM's."""

    def left(offer: Offer) -> Offer:
        return replace(offer, why_not=("another VM has it",)) if offer.address in taken else offer

    cards = [
        replace(c, whole=left(c.whole), ports=tuple(tuple(map(left, port)) for port in c.ports))
        for c in stock.cards
    ]
    return replace(stock, gpus=tuple(map(left, stock.gpus)), cards=tuple(cards))


def _bus(switch: int) -> int:
    return 0x10 + 0x10 * switch


def _below(number: int, index: int, switch: Switch, kind: Kind) -> Offer:
    bus = _bus(number)
    up = f"{bus:02x}:01.0 {bus + 1:02x}:00.0"
    path = f"{up} {bus + 2:02x}:{index:02x}.0 {bus + 3 + index:02x}:00.0"
    offer = _offer(function(path, GPU if kind is Kind.GPU else NIC), kind, switch.node, up)
    return replace(offer, why_not=("others have it",)) if index in switch.busy else offer


def _card(whole: Offer, switch: Switch, total_vfs: int) -> Card:
    virtual = []
    for number in range(1, switch.vfs + 1):
        own = whole.chosen.function
        vf = replace(own, address=PciAddress(0, own.address.bus, 0, number))
        state = replace(whole.chosen.state, physical_function=own.address)
        chosen = replace(whole.chosen, function=vf, state=state)
        virtual.append(replace(whole, chosen=chosen))
    if virtual:
        whole = replace(whole, why_not=("has VFs on",))
    return Card(whole, (tuple(virtual),), total_vfs)


def _offer(found: PciFunction, kind: Kind, node: int, up: str | None = None) -> Offer:
    chosen = Chosen(
        function=found,
        kind=kind,
        state=FunctionState(
            group=found.address.bus,
            iommu_unit="dmar0",
            numa_node=node,
            enable_count=0,
            physical_function=None,
            virtual_functions=(),
            vfio=True,
        ),
        link=None,
        port_link=None,
        bars=(),
        ats=None,
        switches=() if up is None else (function(up),),
    )
    return Offer(chosen)
