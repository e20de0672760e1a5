"""Why a VM gets just these functions, in sentences."""

from collections import Counter
from collections.abc import Iterator

from pcietune.guest.choice.choice import Choice
from pcietune.guest.choice.told import by_reason, counted, named
from pcietune.guest.stock.offer import Offer, Stock


def reasons(stock: Stock, choice: Choice, *, by_name: bool) -> Iterator[str]:
    """Yield why these functions: their places, their NICs, what stays for others, who goes along.

    Args:
        stock: What the host has.
        choice: What was chosen of it.
        by_name: Whether somebody named the functions.
    """
    gpus = choice.gpus
    if by_name:
        yield "the functions were named"
    elif gpus:
        yield _places(stock, choice)
        yield _left_whole(stock, choice)
    if choice.partition is not None:
        yield f"{choice.partition} of the NVSwitches holds just these GPUs"
    yield from _nics(stock, choice)
    for offer in choice.offers:
        for companion in offer.chosen.companions:
            yield (
                f"{companion.function.address} goes along: it shares the slot of {offer.address},"
                " which is reset as one"
            )
    if not by_name:
        passed_over = by_reason(stock.gpus)
        if passed_over:
            yield f"passed over: {passed_over}"


def _places(stock: Stock, choice: Choice) -> str:
    """Return how near the GPUs are to each other, and why no nearer."""
    gpus = choice.gpus
    switches = list(dict.fromkeys(gpu.switch for gpu in gpus if gpu.switch is not None))
    nodes = list(dict.fromkeys(gpu.node for gpu in gpus))
    where = named(gpus)
    node = "an unknown NUMA node" if nodes[0] is None else f"NUMA node {nodes[0]}"
    if len(gpus) == len(stock.gpus):
        return f"{where}: all GPUs of the host"
    if len(gpus) == 1:
        return f"{where}: below switch {switches[0]}" if switches else f"{where}: on {node}"
    if len(switches) == 1 and all(gpu.switch for gpu in gpus):
        return f"{where}: all below one switch, {switches[0]}"
    below = f"below {counted(len(switches), 'switch')}" if switches else "below root ports"
    if len(nodes) == 1:
        return f"{where}: {below} of {node}, for {_no_nearer(stock, choice, 'switch')}"
    numbers = ", ".join("?" if node is None else str(node) for node in nodes)
    return f"{where}: on NUMA nodes {numbers}, for {_no_nearer(stock, choice, 'node')}"


def _no_nearer(stock: Stock, choice: Choice, what: str) -> str:
    """Return why the GPUs are not below one switch, or on one node."""
    wanted = len(choice.gpus)
    free = [gpu for gpu in stock.gpus if not gpu.why_not]
    places = Counter(gpu.switch if what == "switch" else gpu.node for gpu in free)
    del places[None]
    if max(places.values(), default=0) < wanted:
        return f"no {what} has {wanted} that are free"
    if choice.partition is not None:
        return f"no free partition of the NVSwitches has {wanted} of one {what}"
    return f"no {what} has {wanted} that do as well by NICs, memory, IOMMU groups and audit"


def _left_whole(stock: Stock, choice: Choice) -> str:
    """Return what stays for the next VM: places of which it has neither a GPU nor a NIC."""
    places: dict[str, list[Offer]] = {}
    for gpu in stock.gpus:
        places.setdefault(gpu.place, []).append(gpu)
    free = [those for those in places.values() if not any(gpu.why_not for gpu in those)]
    taken = {offer.place for offer in choice.offers}
    left = [those for those in free if those[0].place not in taken]
    what = "switch" if any(gpu.switch for gpu in stock.gpus) else "GPU"
    stay = "stays" if len(left) == 1 else "stay"
    return f"{counted(len(left), what)} of {len(places)} {stay} whole for other VMs"


def _nics(stock: Stock, choice: Choice) -> Iterator[str]:
    with_nics = {card.whole.place for card in stock.cards}
    alone = [gpu for gpu in choice.gpus if gpu.place not in with_nics]
    if alone and not choice.nics:
        yield f"no NIC is below a switch of {named(alone)}: --nics gives one from elsewhere"
    told: dict[str, list[Offer]] = {}
    for nic in choice.nics:
        told.setdefault(_nic(stock, choice, nic), []).append(nic)
    for text, nics in told.items():
        yield f"{named(nics)}: {text}"


def _nic(stock: Stock, choice: Choice, nic: Offer) -> str:
    """Return why a NIC or VF was chosen."""
    near = [gpu for gpu in choice.gpus if gpu.switch is not None and gpu.switch == nic.switch]
    where = f"below the switch of {named(near)}" if near else "below no switch of its GPUs"
    physical = nic.chosen.state.physical_function
    owner = None if physical is None else stock.owner(physical)
    if owner is None:
        return where
    others = [gpu for gpu in stock.gpus if gpu.place == nic.place and gpu not in choice.gpus]
    need = f", which {named(others)} may need, too" if others else ""
    return f"{where}, a VF of {owner.address}{need}"
