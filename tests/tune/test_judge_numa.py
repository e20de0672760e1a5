from dataclasses import replace
from pathlib import Path

import pytest
from trees.fabrics import two_switches
from trees.function import Function, gpu, nic
from trees.host import TreeHost
from trees.machines import one_switch
from tune.judged import GPU, NIC, finding, judged
from tune.profiles import PROFILE, with_mode

from pcietune.errors import ExitCode
from pcietune.model.finding import RemedyKind, State
from pcietune.model.profile import Layout, Mode
from pcietune.model.severity import Severity
from pcietune.tune.audit.audit import Audit

SWITCH = "0000:20:01.0/00.0"
SECOND = ("0000:43:00.0", "0000:44:00.0", "0000:45:00.0")


def _on(node: int, function: Function) -> Function:
    return replace(function, attributes={"numa_node": str(node)})


def _one_switch(root: Path, *, gpu_node: int, nic_node: int, nodes: str | None) -> TreeHost:
    tree = one_switch(
        root,
        instead=[
            _on(gpu_node, gpu(GPU, below="0000:22:00.0")),
            _on(nic_node, nic(NIC, below="0000:22:04.0")),
        ],
    )
    if nodes is not None:
        tree.put("sys/devices/system/node/has_cpu", nodes)
    return tree


def _numa(audited: Audit) -> dict[tuple[str, str], State]:
    return {
        (f.id, str(f.subject.address or f.subject.path)): f.state
        for f in audited.findings
        if f.id.startswith("layout.numa")
    }


def _judged(tree: TreeHost, *wanted: int) -> Audit:
    return judged(tree, replace(with_mode(Mode({})), layout=Layout(numa_nodes=wanted)))


def test_functions_on_the_node_of_their_switch_are_as_wanted(tmp_path: Path) -> None:
    audited = _judged(_one_switch(tmp_path, gpu_node=1, nic_node=1, nodes="0-1"))

    assert _numa(audited) == {
        ("layout.numa-node", GPU): State.PASS,
        ("layout.numa-node", NIC): State.PASS,
        ("layout.numa-split", "0000:21:00.0"): State.PASS,
    }


def test_a_function_that_firmware_gave_no_node_is_a_warning_of_its_own(tmp_path: Path) -> None:
    audited = _judged(_one_switch(tmp_path, gpu_node=-1, nic_node=1, nodes="0-1"))

    told = finding(audited, "layout.numa-node", GPU)
    assert (told.state, told.severity, told.found.value) == (State.FAIL, Severity.WARNING, "-1")
    assert told.remedy
    assert told.remedy.kind is RemedyKind.BIOS
    assert audited.exit_code() is ExitCode.DIFFERS
    assert finding(audited, "layout.numa-split", SWITCH).state is State.ERROR


def test_where_the_kernel_runs_on_one_node_nothing_is_far(tmp_path: Path) -> None:
    audited = _judged(_one_switch(tmp_path, gpu_node=-1, nic_node=-1, nodes="0"))

    assert _numa(audited) == {}


def test_where_the_kernels_nodes_are_not_known_a_missing_one_turns_nothing_red(
    tmp_path: Path,
) -> None:
    audited = _judged(_one_switch(tmp_path, gpu_node=-1, nic_node=-1, nodes=None))

    assert finding(audited, "layout.numa-node", GPU).state is State.FAIL
    assert audited.exit_code() is ExitCode.OK


def test_a_gpu_and_a_nic_of_one_switch_on_different_nodes_are_told(tmp_path: Path) -> None:
    audited = _judged(_one_switch(tmp_path, gpu_node=0, nic_node=1, nodes="0-1"))

    split = finding(audited, "layout.numa-split", SWITCH)
    assert (split.state, split.severity) == (State.FAIL, Severity.INFO)
    assert split.found.text == "NUMA nodes 0, 1"


@pytest.mark.parametrize(
    ("wanted", "state"),
    [((2,), State.PASS), ((2, 4, 8), State.PASS), ((1,), State.FAIL), ((4, 8), State.FAIL)],
)
def test_one_of_the_numbers_of_nodes_that_the_profile_allows_will_do(
    tmp_path: Path, wanted: tuple[int, ...], state: State
) -> None:
    second = [
        _on(3, gpu(SECOND[0], below="0000:42:00.0")),
        _on(3, nic(SECOND[1], below="0000:42:04.0")),
        _on(3, nic(SECOND[2], below="0000:42:08.0")),
    ]

    audited = _judged(two_switches(tmp_path, instead=second), *wanted)

    found = finding(audited, "layout.numa-nodes", "host")
    assert (found.state, found.severity, found.found.value) == (state, Severity.WARNING, "2")


def test_over_how_many_nodes_is_not_known_where_firmware_does_not_say_of_all(
    tmp_path: Path,
) -> None:
    tree = _one_switch(tmp_path, gpu_node=-1, nic_node=1, nodes="0-1")

    assert finding(_judged(tree, 1), "layout.numa-nodes", "host").state is State.ERROR


def test_on_one_node_all_functions_are_spread_over_one(tmp_path: Path) -> None:
    tree = _one_switch(tmp_path, gpu_node=-1, nic_node=-1, nodes="0")

    assert finding(_judged(tree, 2, 4), "layout.numa-nodes", "host").state is State.FAIL
    assert finding(_judged(tree, 1), "layout.numa-nodes", "host").state is State.PASS


def test_the_profile_may_weigh_it(tmp_path: Path) -> None:
    profile = replace(
        PROFILE, severities={"layout.numa-split": Severity.ERROR}, layout=Layout(numa_nodes=(1,))
    )
    tree = _one_switch(tmp_path, gpu_node=0, nic_node=1, nodes="0-1")

    assert finding(judged(tree, profile), "layout.numa-split", SWITCH).severity is Severity.ERROR
