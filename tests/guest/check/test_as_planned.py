"""What arrived as planned passes; each thing that did not is found."""

import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from guest import plans
from guest.check.random_plans import random_plans
from guest.check.seen import checked, differing
from guest.check.vm import Vm, passed_function, resource, vm_of
from hypothesis import given, settings
from hypothesis import strategies as st
from trees.config import ENDPOINT, ConfigBuilder

from pcietune.errors import ExitCode
from pcietune.guest.check.row import Aspect, Verdict
from pcietune.guest.plan import Plan

PLANS = (
    plans.a800_two_gpus,
    plans.a800_four_gpus_on_two_nodes,
    plans.l20_one_gpu_and_a_vf,
    plans.two_gpus_on_ports,
)
Mutation = Callable[[Plan, Vm], Vm]


@pytest.mark.parametrize("plan", PLANS)
def test_the_vm_of_a_plan_is_as_planned(tmp_path: Path, plan: Callable[[], Plan]) -> None:
    result = checked(plan(), vm_of(plan()), tmp_path)

    assert {row.verdict for row in result.rows} == {Verdict.PASS}
    assert result.exit_code is ExitCode.OK


def test_all_that_a_plan_says_of_a_function_is_compared(tmp_path: Path) -> None:
    result = checked(plans.a800_two_gpus(), vm_of(plans.a800_two_gpus()), tmp_path)

    of_gpu = {row.aspect for row in result.rows if row.subject == "gpu0"}
    assert of_gpu == {
        Aspect.ADDRESS,
        Aspect.ID,
        Aspect.CLASS,
        Aspect.PORTS,
        Aspect.BARS,
        Aspect.NODE,
        Aspect.LINK,
        Aspect.CLIQUE,
    }
    assert ("nic0", Aspect.ATS) in {(row.subject, row.aspect) for row in result.rows}
    assert {row.aspect for row in result.rows if row.subject in {"VM", "node 0", "up0"}} == {
        Aspect.NODES,
        Aspect.CPUS,
        Aspect.MEMORY,
        Aspect.SWITCH,
    }


@given(plan=random_plans())
@settings(max_examples=12, deadline=None)
def test_the_vm_of_any_plan_is_as_planned(plan: Plan) -> None:
    with tempfile.TemporaryDirectory() as root:
        result = checked(plan, vm_of(plan), Path(root))

    assert [row for row in result.rows if row.verdict is not Verdict.PASS] == []


def _missing(plan: Plan, vm: Vm) -> Vm:
    return vm.without(plan.functions[0].guest_address)


def _other_id(plan: Plan, vm: Vm) -> Vm:
    passed = msgspec.structs.replace(plan.functions[0], id="10de:1234")
    other = passed_function(plan, passed)
    return vm.changed(other.address, lambda f: replace(f, config=other.config))


def _other_class(plan: Plan, vm: Vm) -> Vm:
    passed = plan.functions[0]
    config = ConfigBuilder(passed.id, 0x038000).express(ENDPOINT)
    return vm.changed(passed.guest_address, lambda f: replace(f, config=config))


def _other_node(plan: Plan, vm: Vm) -> Vm:
    return vm.showing(plan.functions[0].guest_address, numa_node="7")


def _slow(plan: Plan, vm: Vm) -> Vm:
    return vm.showing(plan.functions[0].guest_address, max_link_speed="2.5 GT/s PCIe")


def _narrow(plan: Plan, vm: Vm) -> Vm:
    return vm.showing(plan.functions[0].guest_address, max_link_width="8")


def _small_window(plan: Plan, vm: Vm) -> Vm:
    passed = plan.functions[0]
    left = resource(passed.bars_64[1:], passed.bars_32)
    return vm.showing(passed.guest_address, resource=left)


def _vouched(plan: Plan, vm: Vm) -> Vm:
    passed = plan.functions[0]
    other = passed_function(plan, passed, clique=5 if passed.clique is None else passed.clique ^ 1)
    return vm.changed(other.address, lambda f: replace(f, config=other.config))


def _renumbered(plan: Plan, vm: Vm) -> Vm:
    bus = int(plan.functions[-1].guest_address[5:7], 16)
    return vm.shifted(1, first=bus)


MUTATIONS: dict[Aspect, list[tuple[Mutation, int]]] = {
    Aspect.ADDRESS: [(_missing, 0), (_renumbered, -1)],
    Aspect.ID: [(_other_id, 0)],
    Aspect.CLASS: [(_other_class, 0)],
    Aspect.NODE: [(_other_node, 0)],
    Aspect.LINK: [(_slow, 0), (_narrow, 0)],
    Aspect.BARS: [(_small_window, 0)],
    Aspect.CLIQUE: [(_vouched, 0)],
}


@pytest.mark.parametrize(
    ("aspect", "mutation", "which"),
    [(aspect, *each) for aspect, several in MUTATIONS.items() for each in several],
)
@given(data=st.data())
@settings(max_examples=4, deadline=None)
def test_each_single_change_is_found(
    data: st.DataObject, aspect: Aspect, mutation: Mutation, which: int
) -> None:
    plan = data.draw(random_plans())
    with tempfile.TemporaryDirectory() as root:
        result = checked(plan, mutation(plan, vm_of(plan)), Path(root))

    assert differing(result)[0] == (plan.functions[which].name, aspect)
    assert result.exit_code is ExitCode.DIFFERS


@pytest.mark.parametrize("plan", PLANS)
def test_two_checks_of_one_vm_say_the_same(tmp_path: Path, plan: Callable[[], Plan]) -> None:
    vm = vm_of(plan()).showing(plan().functions[0].guest_address, numa_node="-1")

    one, other = (checked(plan(), vm, tmp_path / name) for name in ("a", "b"))

    assert one == other
