"""Plans as the layout makes them, of hosts of several shapes, small enough to run anywhere."""

from collections.abc import Iterable

from guest.layout.hosts import below_switch, below_switches, chosen, switch
from guest.plans import a800_two_gpus, cell
from msgspec.structs import replace

from pcietune.guest.chosen import Chosen
from pcietune.guest.kinds import Kind
from pcietune.guest.layout.budget import budget_of
from pcietune.guest.layout.lay_out import lay_out
from pcietune.guest.plan import Plan
from pcietune.guest.wish import Expanders, Layout, Wish

_MEMORY_MIB = 192  # of each cell: firmware needs some, software emulation is to need little


def switches_on_two_nodes() -> Plan:
    """Return GPUs and NICs below two switches of each node, each group below an expander."""
    several = [
        below_switch(kind, bus, port, node=node)
        for bus, node in ((0x20, 0), (0x30, 0), (0x40, 1), (0x50, 1))
        for port, kind in enumerate((Kind.GPU, Kind.GPU, Kind.NIC))
    ]
    return _plan(several, Wish(expanders=Expanders.GROUP))


def a_cascade_and_nvswitches() -> Plan:
    """Return switches below a switch, NVSwitches on root ports, and a card of two functions."""
    audio = chosen(Kind.COMPANION, "0000:91:00.1", "0000:90:00.0")
    return _plan(
        [
            *(_below_two(Kind.GPU, inner, port) for inner in (0, 1) for port in (0, 1)),
            _below_two(Kind.NIC, 1, 2),
            *(chosen(Kind.NVSWITCH, f"0000:8{n}:00.0", f"0000:80:0{n}.0") for n in (1, 2, 3)),
            chosen(Kind.GPU, "0000:91:00.0", "0000:90:00.0", companions=(audio,)),
        ],
        Wish(),
    )


def more_root_ports_than_slots() -> Plan:
    """Return 36 NICs, each below a root port of a node that is not known."""
    several = [
        chosen(Kind.NIC, f"0000:{0x80 + n:02x}:00.0", f"0000:00:{n // 8:02x}.{n % 8}", node=None)
        for n in range(36)
    ]
    return _plan(several, Wish(layout=Layout.PORTS))


def of_forest(paths: Iterable[tuple[int, ...]]) -> Plan:
    """Return functions below any switches; see ``guest.layout.hosts.forests``."""
    return _plan([below_switches(path, index) for index, path in enumerate(paths)], Wish())


def _below_two(kind: Kind, inner: int, port: int) -> Chosen:
    root, outer, outer_port = "0000:20:00.0", "0000:21:00.0", f"0000:22:{inner:02x}.0"
    bus = 0x30 + 0x10 * inner
    own, own_port = f"0000:{bus:02x}:00.0", f"0000:{bus + 1:02x}:{port:02x}.0"
    return chosen(
        kind,
        f"0000:{bus + 2 + port:02x}:00.0",
        *(root, outer, outer_port, own, own_port),
        switches=(switch(outer, root), switch(own, root, outer, outer_port)),
    )


def _plan(several: Iterable[Chosen], wish: Wish) -> Plan:
    cells = [
        replace(
            cell(n, host_node=n, first_vcpu=2 * n, vcpus=2, distances=distances),
            memory_mib=_MEMORY_MIB,
        )
        for n, distances in enumerate(((10, 21), (21, 10)))
    ]
    laid = lay_out(list(several), cells, wish)
    return replace(
        a800_two_gpus(),
        cells=cells,
        bridges=list(laid.bridges),
        functions=list(laid.functions),
        budget=budget_of(laid.bridges, laid.functions),
    )
