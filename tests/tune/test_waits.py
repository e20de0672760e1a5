from pathlib import Path

import pytest
from trees.host import TreeHost
from trees.machines import one_switch
from tune.faults import vanish
from tune.judged import GPU, NIC, NIC_PORT, at, judge, opened

from pcietune.model.plan import HeldBack, Plan, PlannedSwitch
from pcietune.tune.change.plan import plan
from pcietune.tune.watch.waits import NO_WAITS, Waits, waits

GROUP_OF_THE_NIC = 5  # every function has one of its own, in the order of addresses


def put(tree: TreeHost, address: str, name: str, text: str) -> None:
    (tree.directory(address) / name).write_text(f"{text}\n")


@pytest.fixture
def tree(tmp_path: Path) -> TreeHost:
    tree = one_switch(tmp_path, driver="vfio-pci")
    put(tree, NIC, "enable", "1")
    return tree


def found(tree: TreeHost, *asleep: str) -> Waits:
    host = opened(tree)
    audited = judge(host)
    planned = plan(host, audited, while_in_use=False)
    return waits(host, audited.fabric, planned, [at(host, each).address for each in asleep])


def test_a_deferred_write_waits_for_the_users_below_its_port(tree: TreeHost) -> None:
    assert [str(user.address) for user in found(tree).users] == [NIC]


def test_a_deferred_switch_waits_for_the_users_in_its_iommu_group(tree: TreeHost) -> None:
    host = opened(tree)
    audited = judge(host)
    nic = at(host, NIC)
    switch = PlannedSwitch("g", nic, GROUP_OF_THE_NIC, "DMA", "identity", 0x106, (), ())
    deferred = Plan(deferred=(HeldBack(switch, "in use"),))

    assert waits(host, audited.fabric, deferred, ()).users == (nic,)


def test_an_unread_function_waits_for_the_port_that_sleeps_above_it(tree: TreeHost) -> None:
    put(tree, NIC_PORT, "power/runtime_status", "suspended")

    assert [str(port.address) for port in found(tree, NIC).sleepers] == [NIC_PORT]


def test_it_ends_when_a_user_lets_go_or_vanishes(tree: TreeHost) -> None:
    waiting = found(tree)
    assert not waiting.ended(opened(tree))

    put(tree, NIC, "enable", "0")
    assert waiting.ended(opened(tree))
    put(tree, NIC, "enable", "1")
    vanish(tree, NIC)
    assert waiting.ended(opened(tree))


def test_it_ends_when_a_port_wakes(tree: TreeHost) -> None:
    put(tree, NIC_PORT, "power/runtime_status", "suspended")
    waiting = Waits(sleepers=found(tree, NIC).sleepers)
    assert not waiting.ended(opened(tree))

    put(tree, NIC_PORT, "power/runtime_status", "active")

    assert waiting.ended(opened(tree))


def test_two_waits_together_have_everything_once(tree: TreeHost) -> None:
    host = opened(tree)
    nic, gpu = at(host, NIC), at(host, GPU)

    both = Waits((nic,), (gpu,)).and_also(Waits((nic, gpu), (gpu,)))

    assert both == Waits((nic, gpu), (gpu,))
    assert both
    assert not NO_WAITS
