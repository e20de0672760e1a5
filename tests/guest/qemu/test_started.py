"""What QEMU makes of the arguments: parents, links, NUMA nodes and memory as planned."""

from collections.abc import Callable, Iterator

import msgspec
import pytest
from guest.plans import l20_one_gpu_and_a_vf, two_gpus_on_ports
from guest.qemu.layouts import (
    a_cascade_and_nvswitches,
    more_root_ports_than_slots,
    switches_on_two_nodes,
)
from guest.qemu.running import Qemu, rng, running
from msgspec.structs import replace

from pcietune.guest.kinds import BridgeKind
from pcietune.guest.plan import Plan

NO_NODE = 128  # a pxb-pcie's without one (include/sysemu/numa.h, NUMA_NODE_UNASSIGNED)


class _Cpu(msgspec.Struct):
    index: int = msgspec.field(name="cpu-index")
    props: dict[str, int]


class _Memory(msgspec.Struct):
    id: str
    size: int


@pytest.fixture(
    scope="module",
    params=[
        switches_on_two_nodes,
        a_cascade_and_nvswitches,
        more_root_ports_than_slots,
        l20_one_gpu_and_a_vf,
        two_gpus_on_ports,
    ],
    ids=lambda made: made.__name__,
)
def started(request: pytest.FixtureRequest) -> Iterator[tuple[Plan, Qemu]]:
    """Return a plan and a QEMU that has made the machine, and not begun to run it."""
    made: Callable[[], Plan] = request.param
    plan = made()
    plan = replace(
        plan,
        cells=[replace(cell, memory_mib=128) for cell in plan.cells],
        budget=replace(plan.budget, memory_64_mib=65536),  # 40 address bits are all there are
    )
    with running(plan, "-S", stand_in=rng) as qemu:
        yield plan, qemu


def _word(qemu: Qemu, device: str, name: str) -> str:
    return qemu.ask("qom-get", str, path=f"/machine/peripheral/{device}", property=name)


def _number(qemu: Qemu, device: str, name: str) -> int:
    return qemu.ask("qom-get", int, path=f"/machine/peripheral/{device}", property=name)


def test_each_device_is_below_its_planned_parent(started: tuple[Plan, Qemu]) -> None:
    plan, qemu = started

    planned = {bridge.name: bridge.parent for bridge in plan.bridges}
    planned |= {function.name: function.parent for function in plan.functions}
    parents = {name: _word(qemu, name, "parent_bus").rpartition("/")[2] for name in planned}

    assert parents == planned


def test_expanders_have_their_nodes_and_numbers(started: tuple[Plan, Qemu]) -> None:
    plan, qemu = started

    for each in plan.bridges:
        if each.kind is BridgeKind.EXPANDER:
            assert _number(qemu, each.name, "bus_nr") == each.bus
            assert _number(qemu, each.name, "numa_node") == (
                NO_NODE if each.cell is None else each.cell
            )


def test_root_ports_have_their_links(started: tuple[Plan, Qemu]) -> None:
    plan, qemu = started

    for each in plan.bridges:
        if each.kind is BridgeKind.ROOT_PORT:
            # QEMU's own are 16 GT/s and 32 lanes.
            assert _word(qemu, each.name, "x-speed") == (each.speed or "16")
            assert _word(qemu, each.name, "x-width") == str(each.width or 32)


def test_each_cell_has_its_cpus_and_memory(started: tuple[Plan, Qemu]) -> None:
    plan, qemu = started

    nodes = {each.index: each.props["node-id"] for each in qemu.ask("query-cpus-fast", list[_Cpu])}
    memory = {each.id: each.size for each in qemu.ask("query-memdev", list[_Memory])}

    assert nodes == {cpu: cell.cell for cell in plan.cells for cpu in cell.vcpus}
    assert memory == {f"ram{cell.cell}": cell.memory_mib << 20 for cell in plan.cells}
