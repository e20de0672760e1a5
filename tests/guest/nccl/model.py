"""What NCCL makes of a topology file: path types and bandwidths, by its rules, told anew."""

from dataclasses import dataclass

from guest.nccl.reader import Read

_PER_LANE = {  # GB/s times 8 x 10, of each speed as the kernel spells it
    "2.5 GT/s PCIe": 15, "5.0 GT/s PCIe": 30, "8.0 GT/s PCIe": 60, "16.0 GT/s PCIe": 120,
    "32.0 GT/s PCIe": 240, "64.0 GT/s PCIe": 480,
}  # fmt: skip


@dataclass(frozen=True)
class Way:
    """A function's way up: its switches' bus ids from the lowest, and its cpu's numaid."""

    switches: tuple[str, ...]
    numaid: str


def ways(system: Read) -> dict[str, Way]:
    """Return the way of each GPU and NIC, by bus id."""
    found: dict[str, Way] = {}

    def go(element: Read, above: tuple[str, ...], numaid: str) -> None:
        bus_id = element.attributes["busid"]
        if element.attributes["class"] == "0x060400":
            for child in element.children:
                go(child, (bus_id, *above), numaid)
        else:
            assert element.attributes["class"][:4] in {"0x03", "0x02"}
            assert bus_id not in found
            found[bus_id] = Way(above, numaid)

    for cpu in system.children:
        for child in cpu.children:
            go(child, (), cpu.attributes["numaid"])
    return found


def path_type(one: Way, other: Way) -> str:
    """Return NCCL's name of the way between two functions.

    One PCI node between them is PIX; more are PXB; by a cpu it is PHB; by two it is SYS.
    """
    if one.numaid != other.numaid:
        return "SYS"
    common = set(one.switches) & set(other.switches)
    if not common:
        return "PHB"
    nodes = [*one.switches, *other.switches]
    crossed = {node for node in nodes if node not in common}
    return "PXB" if crossed else "PIX"


def gigabytes(element: Read) -> float:
    """Return the GB/s that NCCL counts for an element's link."""
    width = int(element.attributes["link_width"]) or 16
    return width * _PER_LANE[element.attributes["link_speed"]] / 80
