"""Plans made up by chance: any number of cells, switches, ports and functions."""

from guest.plans import a800_two_gpus, passed
from hypothesis import strategies as st
from msgspec.structs import replace

from pcietune.guest.devices import Bridge, Passed
from pcietune.guest.kinds import BridgeKind, Firmware
from pcietune.guest.plan import Cell, Plan

# libvirt takes any name without a slash that has more than blanks.
_names = st.text(st.characters(max_codepoint=0x2FF, exclude_characters="/").filter(str.isprintable))


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Return a plan whose bridges and functions fit libvirt's slots."""
    plan = a800_two_gpus()
    cells = [_cell(draw, plan.cells[0], number) for number in range(draw(st.integers(1, 4)))]
    cells = [replace(each, distances=_distances(each.cell, len(cells))) for each in cells]
    made = _Made(plan.bridges)
    for cell in cells:
        made.add(cell, [draw(st.integers(0, 6)) for _ in range(draw(st.integers(0, 3)))])
    name = draw(_names.filter(str.strip))
    firmware = draw(st.sampled_from(Firmware))
    return replace(
        plan,
        machine=replace(plan.machine, name=f"vm {name}", firmware=firmware),
        cells=cells,
        bridges=made.bridges,
        functions=made.functions,
    )


def _cell(draw: st.DrawFn, like: Cell, number: int) -> Cell:
    bound = draw(st.booleans())
    return replace(
        like,
        cell=number,
        host_node=number if bound else None,
        vcpus=list(range(8 * number, 8 * number + 8)),
        host_cpus=like.host_cpus if bound else [],
        threads=draw(st.sampled_from([1, 2])),
        memory_mib=draw(st.integers(1, 64)) * 1024,
        hugepage_kib=draw(st.sampled_from([None, 2048, 1048576])),
    )


def _distances(cell: int, cells: int) -> list[int]:
    return [10 if other == cell else 20 + abs(other - cell) for other in range(cells)]


class _Made:
    """Bridges and functions, numbered on."""

    def __init__(self, like: list[Bridge]) -> None:
        self._like = {each.kind: each for each in like}
        self.bridges: list[Bridge] = []
        self.functions: list[Passed] = []

    def add(self, cell: Cell, switches: list[int]) -> None:
        """Add an expander with switches of so many ports; for 0 a root port with a function."""
        expander = self._bridge(BridgeKind.EXPANDER, "pxb", "pcie.0", 0x10 + cell.cell)
        bus = 0x20 * (cell.cell + 1)
        self.bridges[-1] = replace(expander, bus=bus, cell=cell.cell)
        for slot, ports in enumerate(switches):
            root = self._bridge(BridgeKind.ROOT_PORT, "rp", expander.name, slot)
            if not ports:
                self._function(root)
                continue
            upstream = self._bridge(BridgeKind.UPSTREAM_PORT, "up", root.name, 0)
            for port in range(ports):
                kind = BridgeKind.DOWNSTREAM_PORT
                self._function(self._bridge(kind, "dp", upstream.name, port))

    def _bridge(self, kind: BridgeKind, prefix: str, parent: str, device: int) -> Bridge:
        name = f"{prefix}{sum(1 for each in self.bridges if each.kind is kind)}"
        made = replace(self._like[kind], name=name, parent=parent, device=device)
        self.bridges.append(made)
        return made

    def _function(self, parent: Bridge) -> None:
        number = len(self.functions)
        address = f"0000:{number + 1:02x}:00.0"
        path = f"0000:20:00.0/00.0/{number:02x}.0/00.0"
        self.functions.append(passed(f"gpu{number}", address, path, parent.name, address))
