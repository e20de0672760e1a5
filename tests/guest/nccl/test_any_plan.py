"""Whatever the plan, its topology file is one that NCCL reads, and has the host's neighbours."""

from dataclasses import dataclass

import msgspec
from guest.nccl.model import path_type, ways
from guest.nccl.reader import read
from guest.nccl.written import text_of
from guest.plans import a800_two_gpus, cell, passed
from hypothesis import given
from hypothesis import strategies as st

from pcietune.guest.devices import Bridge, Passed
from pcietune.guest.kinds import BridgeKind
from pcietune.guest.nccl.dialect import VERSIONS, Library
from pcietune.guest.nccl.lint.lint import lint
from pcietune.guest.nccl.topology import topology
from pcietune.guest.nccl.wanted import Wanted
from pcietune.guest.plan import Plan

SPEEDS = (None, "Unknown", "2.5 GT/s PCIe", "8.0 GT/s PCIe", "16 GT/s", "32.0 GT/s PCIe")


@dataclass(frozen=True)
class Group:
    """What is below one switch of the host, or below none: kinds, links, and which node."""

    kinds: list[str]
    node: int
    switch: bool
    emulated: bool
    speed: str | None
    width: int | None


groups = st.builds(
    Group,
    kinds=st.lists(st.sampled_from(["gpu", "nic"]), min_size=1, max_size=4),
    node=st.integers(0, 2),
    switch=st.booleans(),
    emulated=st.booleans(),
    speed=st.sampled_from(SPEEDS),
    width=st.sampled_from([None, 1, 8, 16]),
)


def _plan(parts: list[Group]) -> Plan:
    """Return a plan of groups, bus by bus, on three NUMA nodes."""
    functions: list[Passed] = []
    bridges: list[Bridge] = []
    template = next(
        each for each in a800_two_gpus().bridges if each.kind is BridgeKind.UPSTREAM_PORT
    )
    for number, group in enumerate(parts):
        bus = 0x20 + 8 * number
        location = f"0000:{bus:02x}:00.0/00.0" if group.switch else None
        up = f"up{number}"
        if group.switch and group.emulated:
            address = f"0000:{bus:02x}:00.0"
            bridges.append(
                msgspec.structs.replace(template, name=up, parent="pcie.0", address=address)
            )
        for place, kind in enumerate(group.kinds):
            name = f"{kind}{len(functions)}"
            guest = f"0000:{bus + 1 + place:02x}:00.0"
            made = passed(name, f"0001:{bus + place:02x}:00.0", "0001:00:00.0/00.0", up, guest)
            functions.append(
                msgspec.structs.replace(
                    made,
                    switch=location,
                    cell=group.node,
                    numa_node=group.node,
                    link_speed=group.speed,
                    link_width=group.width,
                )
            )
    cells = [
        cell(node, host_node=node, first_vcpu=40 * node, vcpus=40, distances=(10, 20, 20))
        for node in range(3)
    ]
    return msgspec.structs.replace(
        a800_two_gpus(), cells=cells, bridges=bridges, functions=functions
    )


plans = st.lists(groups, min_size=1, max_size=6).map(_plan)


@given(plan=plans, library=st.sampled_from(Library), invent=st.booleans())
def test_nccl_reads_it_and_the_lint_finds_no_mistake(
    plan: Plan, library: Library, *, invent: bool
) -> None:
    text = text_of(plan, Wanted(library=library, invent=invent))

    root = read(text, str(VERSIONS[library]))
    complaints = lint(text, library, plan)
    assert {each.numaid for each in ways(root).values()} <= {"0", "1", "2"}
    assert {each.rule for each in complaints} <= {"link-slow"}, complaints  # as the host's are


@given(plan=plans, invent=st.booleans())
def test_functions_are_as_near_to_each_other_as_on_the_host(plan: Plan, *, invent: bool) -> None:
    found = ways(read(text_of(plan, Wanted(invent=invent))))

    assert set(found) == {each.guest_address for each in plan.functions}
    for one in plan.functions:
        for other in plan.functions:
            if one is other:
                continue
            if one.switch is not None and one.switch == other.switch:
                wanted = "PIX"
            else:
                wanted = "PHB" if one.cell == other.cell else "SYS"
            assert path_type(found[one.guest_address], found[other.guest_address]) == wanted


@given(plan=plans)
def test_of_equal_plans_the_files_are_equal(plan: Plan) -> None:
    again = msgspec.json.decode(msgspec.json.encode(plan), type=Plan)

    assert topology(plan, Wanted()) == topology(again, Wanted())
