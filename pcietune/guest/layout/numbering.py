"""The names and numbers of a VM's bridges.

SeaBIOS (src/fw/pciinit.c, pci_bios_init_bus_rec) and OVMF (PciBusDxe, PciScanBus) both go depth
first, give each bridge the next number, and begin at each expander's ``bus_nr``; neither sets
numbers aside for hot-plug unless a port asks for it by ``bus-reserve``.
"""

from collections import Counter
from collections.abc import Iterator, Mapping

from pcietune.address import PciAddress
from pcietune.guest.chosen import Chosen
from pcietune.guest.devices import Bridge, Passed
from pcietune.guest.kinds import BridgeKind, Kind
from pcietune.guest.layout.passing import Seat, passed
from pcietune.guest.layout.place import Place

_PREFIXES = {
    BridgeKind.EXPANDER: "pxb",
    BridgeKind.ROOT_PORT: "rp",
    BridgeKind.UPSTREAM_PORT: "up",
    BridgeKind.DOWNSTREAM_PORT: "dp",
}
_HAVE_SLOTS = (BridgeKind.ROOT_PORT, BridgeKind.DOWNSTREAM_PORT)
_DEVICES = 32  # on one bus
_FUNCTIONS = 8  # of one device


class Numbering:
    """Names and numbers bridges and functions, in the order in which they are added.

    Attributes:
        bridges: Those that were added, parents before their children.
        functions: Likewise, in the order of their addresses.
    """

    def __init__(self, names: Mapping[PciAddress, str], *, clique: int | None) -> None:
        """Begin.

        Args:
            names: Of each function, by its address on the host.
            clique: Of all GPUs; None for none.
        """
        self.bridges: list[Bridge] = []
        self.functions: list[Passed] = []
        self._names = names
        self._clique = clique
        self._counts: Counter[str] = Counter()

    def add_root(self, place: Place, device: int, bus: int) -> None:
        """Add an expander that is at a Device Number of ``pcie.0``, and all that is below it."""
        self._add(place, "pcie.0", PciAddress(0, 0, device, 0), bus, place.cell)

    def _add(
        self, place: Place, parent: str, address: PciAddress, bus: int, cell: int | None
    ) -> None:
        name = self._named(_PREFIXES[place.kind])
        slot = self._number("slot") + 1 if place.kind in _HAVE_SLOTS else None
        self.bridges.append(
            Bridge(
                name=name,
                kind=place.kind,
                parent=parent,
                device=address.device,
                function=address.function,
                address=str(address),
                bus=bus,
                last_bus=bus + place.buses - 1,
                chassis=slot,
                slot=slot,
                speed=place.speed,
                width=place.width,
                cell=place.cell,
                stands_for=place.stands_for,
                link_speed=place.link[0],
                link_width=place.link[1],
            )
        )
        for function, chosen in enumerate(place.functions):
            self._pass(chosen, name, PciAddress(0, bus, 0, function), cell)
        below = bus + 1
        for each, (device, function) in zip(place.below, _positions(len(place.below)), strict=True):
            self._add(each, name, PciAddress(0, bus, device, function), below, cell)
            below += each.buses

    def _pass(self, chosen: Chosen, parent: str, address: PciAddress, cell: int | None) -> None:
        name = self._names[chosen.function.address]
        clique = self._clique if chosen.kind is Kind.GPU else None
        self.functions.append(passed(chosen, name, Seat(parent, address, cell), clique))

    def _named(self, prefix: str) -> str:
        return f"{prefix}{self._number(prefix)}"

    def _number(self, of: str) -> int:
        self._counts[of] += 1
        return self._counts[of] - 1


def _positions(count: int) -> Iterator[tuple[int, int]]:
    """Yield Device and Function Number of each: a device of its own while there are enough."""
    functions = 1 if count <= _DEVICES else _FUNCTIONS
    for index in range(count):
        yield divmod(index, functions)
