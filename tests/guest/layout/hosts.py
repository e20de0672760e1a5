"""Functions that were chosen, as a host's fabric has them."""

from hypothesis import strategies as st

from pcietune.address import PciAddress
from pcietune.guest.chosen import Chosen
from pcietune.guest.kinds import Kind
from pcietune.model.bars import Bar
from pcietune.model.function import FunctionState, LinkState, PciFunction

# Of each function the numbers of the switches above it, of which the last is its own.
forests = st.lists(
    st.lists(st.integers(0, 2), min_size=0, max_size=4).map(tuple), min_size=2, max_size=7
)

GIB = 1 << 30
MIB = 1 << 20
GEN4 = LinkState("2.5 GT/s PCIe", 16, "16.0 GT/s PCIe", 16)
_LARGE = 0x14220C  # flags of a 64-bit prefetchable memory BAR, as an A100's resource has them
_SMALL = 0x40200
_IDS = {
    Kind.GPU: (0x10DE, 0x20F3, 0x030200),
    Kind.NIC: (0x15B3, 0x101B, 0x020700),
    Kind.NVSWITCH: (0x10DE, 0x1AF1, 0x068000),
    Kind.COMPANION: (0x10DE, 0x1AEF, 0x040300),
}


def switch(address: str, *ports: str) -> PciFunction:
    """Return an upstream port below the ports, root port first."""
    return _function(address, ports, 0x1000, 0xC010, 0x060400)


def chosen(  # noqa: PLR0913 -- a host has many facts
    kind: Kind,
    address: str,
    *ports: str,
    switches: tuple[PciFunction, ...] = (),
    node: int | None = 0,
    link: LinkState | None = GEN4,
    port_link: LinkState | None = GEN4,
    root_link: LinkState | None = None,
    bars: tuple[Bar, ...] | None = (
        Bar(0x1000_0000, 16 * MIB, _SMALL),
        Bar(0x20_0000_0000, 32 * MIB, _LARGE),
    ),
    companions: tuple[Chosen, ...] = (),
) -> Chosen:
    """Return a function below ports, root port first."""
    return Chosen(
        function=_function(address, ports, *_IDS[kind]),
        kind=kind,
        state=FunctionState(7, "dmar0", node, 0, None, (), vfio=True),
        link=link,
        port_link=port_link,
        bars=bars,
        ats=kind is Kind.NIC,
        switches=switches,
        companions=companions,
        root_link=root_link,
    )


def _function(
    address: str, ports: tuple[str, ...], vendor: int, device: int, class_code: int
) -> PciFunction:
    return PciFunction(
        address=PciAddress.parse(address),
        ports=tuple(map(PciAddress.parse, ports)),
        vendor=vendor,
        device=device,
        subsystem_vendor=0,
        subsystem_device=0,
        class_code=class_code,
        driver="vfio-pci",
    )


def below_switch(
    kind: Kind, bus: int, port: int, *, node: int | None = 0, root_link: LinkState | None = None
) -> Chosen:
    """Return a function below a downstream port of the switch below root port ``bus``:00.0."""
    root, upstream = f"0000:{bus:02x}:00.0", f"0000:{bus + 1:02x}:00.0"
    return chosen(
        kind,
        f"0000:{bus + 3 + port:02x}:00.0",
        root,
        upstream,
        f"0000:{bus + 2:02x}:{port:02x}.0",
        switches=(switch(upstream, root),),
        node=node,
        root_link=root_link,
    )


def below_switches(path: tuple[int, ...], index: int) -> Chosen:
    """Return a function below switches; the Device Number of each port is that of what is below."""
    ports = ["0000:20:00.0"] if path else [f"0000:f0:{index:02x}.0"]
    switches = []
    for depth in range(len(path)):
        top = path[0] * 0x30 + 0x30
        bus = top + sum(number * 7 + 1 for number in path[1 : depth + 1]) * 2 + depth
        if depth == 0:
            ports = [f"0000:20:{path[0]:02x}.0"]
        upstream = f"{depth:04x}:{bus:02x}:00.0"
        switches.append(switch(upstream, *ports))
        below = path[depth + 1] if depth + 1 < len(path) else 8 + index
        ports += [upstream, f"{depth:04x}:{bus + 1:02x}:{below:02x}.0"]
    return chosen(Kind.NIC, f"00ff:{index:02x}:00.0", *ports, switches=tuple(switches))
