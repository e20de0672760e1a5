"""Plans of any shape, numbered as QEMU and its firmware do: depth first, a number for each port."""

import msgspec
from guest import plans
from hypothesis import strategies as st

from pcietune.guest.devices import Bridge, Passed
from pcietune.guest.kinds import BridgeKind
from pcietune.guest.plan import Plan


class _Shape:
    """Builds a plan: root buses with ports and switches, each with functions below."""

    def __init__(self, *, clique: bool) -> None:
        self.bridges: list[Bridge] = []
        self.functions: list[Passed] = []
        self._clique = 0 if clique else None

    def root(self, node: int, units: list[int], first_bus: int) -> int:
        """Add a root bus; of each unit 0 is a port with a GPU, more a switch of so many ports."""
        at = f"0000:00:{0x10 + node:02x}.0"
        name = f"pxb{node}"
        self.bridges.append(_bridge(name, BridgeKind.EXPANDER, "pcie.0", at, first_bus, cell=node))
        bus = first_bus
        for index, unit in enumerate(units):
            bus = self._unit(name, f"0000:{first_bus:02x}:{index:02x}.0", bus + 1, unit, node)
        return bus

    def _unit(self, parent: str, address: str, bus: int, ports: int, node: int) -> int:
        root = self._named("rp", BridgeKind.ROOT_PORT, parent, address, bus)
        if not ports:
            self._pass("gpu", root, bus, node)
            return bus
        at = f"0000:{bus:02x}:00.0"
        switch = self._named("up", BridgeKind.UPSTREAM_PORT, root, at, bus + 1)
        for index in range(ports):
            at = f"0000:{bus + 1:02x}:{index:02x}.0"
            below = self._named("dp", BridgeKind.DOWNSTREAM_PORT, switch, at, bus + 2 + index)
            self._pass("nic" if index % 2 else "gpu", below, bus + 2 + index, node)
        return bus + 1 + ports

    def _named(self, prefix: str, kind: BridgeKind, parent: str, address: str, bus: int) -> str:
        name = f"{prefix}{sum(bridge.kind is kind for bridge in self.bridges)}"
        self.bridges.append(_bridge(name, kind, parent, address, bus))
        return name

    def _pass(self, kind: str, parent: str, bus: int, node: int) -> None:
        number = sum(each.kind == kind for each in self.functions)
        path = f"0000:80:{len(self.functions):02x}.0/00.0"
        made = plans.passed(
            f"{kind}{number}", "0000:81:00.0", path, parent, f"0000:{bus:02x}:00.0", node
        )
        clique = self._clique if kind == "gpu" else None
        self.functions.append(msgspec.structs.replace(made, clique=clique))


def _bridge(  # noqa: PLR0913 -- a row of a table
    name: str, kind: BridgeKind, parent: str, address: str, bus: int, *, cell: int | None = None
) -> Bridge:
    device, function = address[8:].split(".")
    return Bridge(
        name=name,
        kind=kind,
        parent=parent,
        device=int(device, 16),
        function=int(function),
        address=address,
        bus=bus,
        last_bus=bus,
        chassis=None,
        slot=None,
        speed="16" if kind is BridgeKind.ROOT_PORT else None,
        width=16 if kind is BridgeKind.ROOT_PORT else None,
        cell=cell,
        stands_for=None,
    )


@st.composite
def random_plans(draw: st.DrawFn) -> Plan:
    """Return plans of one to three nodes, each with one to three ports or switches."""
    roots = draw(
        st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=3), min_size=1, max_size=3)
    )
    shape = _Shape(clique=draw(st.booleans()))
    bus = 0x20
    for node, units in enumerate(roots):
        bus = shape.root(node, units, bus) + 1 + draw(st.integers(0, 8))
    cells = [
        plans.cell(node, host_node=node, first_vcpu=8 * node, vcpus=8) for node in range(len(roots))
    ]
    return msgspec.structs.replace(
        plans.a800_two_gpus(), cells=cells, bridges=shape.bridges, functions=shape.functions
    )
