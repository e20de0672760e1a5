"""What a host has for VMs: each GPU, NIC and NVSwitch, and what keeps it from a VM."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pcietune.address import PciAddress
from pcietune.guest.chosen import Chosen
from pcietune.model.location import location_order


@dataclass(frozen=True, slots=True)
class Offer:
    """A slot's functions, or a VF: what goes to a VM as one.

    Attributes:
        chosen: What the VM gets, with its companions.
        why_not: What keeps it from any VM, each a phrase about it; empty if nothing does.
        unless: The option with which it would be given all the same, or ``--mode vm``, which is the
            first that it takes; None if none does.
        failing: Findings of the audit that it is given in spite of, each a phrase.
        unsure: What of its use cannot be found out here, each a sentence.
        mates: Addresses of other offers with which it shares an IOMMU group.
        unbound: Its functions that no VFIO driver has yet.
    """

    chosen: Chosen
    why_not: tuple[str, ...] = ()
    unless: str | None = None
    failing: tuple[str, ...] = ()
    unsure: tuple[str, ...] = ()
    mates: frozenset[PciAddress] = frozenset()
    unbound: tuple[PciAddress, ...] = ()

    @property
    def address(self) -> PciAddress:
        """That of the function which stands for all."""
        return self.chosen.function.address

    @property
    def addresses(self) -> tuple[PciAddress, ...]:
        """Those of all its functions."""
        mates = (each.function.address for each in self.chosen.companions)
        return (self.address, *mates)

    @property
    def order(self) -> tuple[int, str]:
        """What sorts offers as the host has them, whatever their addresses are now."""
        return location_order(self.chosen.function.location)

    @property
    def node(self) -> int | None:
        """Its NUMA node on the host; None if not known."""
        node = self.chosen.state.numa_node
        return None if node == -1 else node

    @property
    def switch(self) -> str | None:
        """Location of the topmost upstream port above it; None if it is below no switch."""
        switches = self.chosen.switches
        return switches[0].location if switches else None

    @property
    def place(self) -> str:
        """What it shares with its neighbours: the topmost switch, or else only itself."""
        return self.switch or self.chosen.function.location

    @property
    def switches(self) -> tuple[str, ...]:
        """Locations of the upstream ports above it, topmost first."""
        return tuple(port.location for port in self.chosen.switches)


@dataclass(frozen=True, slots=True)
class Card:
    """A NIC: itself, and the VFs of its ports.

    Attributes:
        whole: Its physical functions.
        ports: For each of them its VFs that are on; empty where none are.
        total_vfs: How many VFs the first port can have; 0 if none, None if not known.
    """

    whole: Offer
    ports: tuple[tuple[Offer, ...], ...]
    total_vfs: int | None = None

    @property
    def has_vfs(self) -> bool:
        """Whether VFs are on, so that itself can be given to nobody."""
        return any(self.ports)


@dataclass(frozen=True, slots=True)
class Stock:
    """A host's offers, each kind in the order of locations.

    Attributes:
        gpus: GPUs.
        cards: NICs.
        nvswitches: NVSwitches that are PCI functions.
        occupied: By the location of a topmost switch, who has something below it.
        modules: Module id of each GPU; of those that are missing it is not known.
        untold: What VMs have open of whose plans nothing was told.
    """

    gpus: tuple[Offer, ...]
    cards: tuple[Card, ...]
    nvswitches: tuple[Offer, ...] = ()
    occupied: Mapping[str, str] = field(default_factory=dict)
    modules: Mapping[PciAddress, int] = field(default_factory=dict)
    untold: tuple[PciAddress, ...] = ()

    def offers(self) -> tuple[Offer, ...]:
        """Return all, VFs included."""
        nics = [each for card in self.cards for each in (card.whole, *sum(card.ports, ()))]
        return (*self.gpus, *nics, *self.nvswitches)

    def gpus_by_node(self) -> dict[int, int]:
        """Return how many GPUs the host has on each NUMA node that is known, whoever has them."""
        nodes = [gpu.node for gpu in self.gpus if gpu.node is not None]
        return {node: nodes.count(node) for node in sorted(set(nodes))}

    def owner(self, address: PciAddress) -> Offer | None:
        """Return the offer that has a function; None if none has."""
        return next((each for each in self.offers() if address in each.addresses), None)
