from dataclasses import replace
from pathlib import Path

import pytest
from trees.dump import dump, one_switch_functions
from trees.express import Express
from trees.fabrics import cascade
from trees.function import Function, downstream_port, gpu, nic, upstream_port
from trees.host import TreeHost
from trees.machines import one_switch
from tune.faults import all_ones
from tune.judged import GPU, GPU_PORT, NIC, NIC_PORT, ROOT_PORT, finding, judge, judged
from tune.profiles import with_mode

from pcietune.errors import ExitCode
from pcietune.host.source import open_host
from pcietune.model.finding import Finding, RemedyKind, State
from pcietune.model.profile import Mode
from pcietune.model.severity import Severity

NOTHING_ELSE = with_mode(Mode({}))
UPSTREAM_PORT = "0000:21:00.0"
EIGHT_LANES = Express(running=(4, 8))
SLOW = Express(running=(3, 16))


def working(function: Function, **attributes: str) -> Function:
    """Return the function as its driver works with it."""
    return replace(
        function,
        driver="mlx5_core",
        attributes={**function.attributes, "enable": "1", **attributes},
    )


def found(
    root: Path, finding_id: str, *instead: Function, at: str = NIC, tree: TreeHost | None = None
) -> Finding:
    host = tree or one_switch(root, instead=instead)
    return finding(judged(host, NOTHING_ELSE), finding_id, at)


def test_gpu_nic_and_the_switch_that_they_share_are_judged(tmp_path: Path) -> None:
    audited = judged(one_switch(tmp_path), NOTHING_ELSE)

    judgements = [(str(f.subject.address), f.id) for f in audited.findings]
    assert [j for j in judgements if j[1].startswith("link.")] == [
        (UPSTREAM_PORT, "link.speed"),
        (UPSTREAM_PORT, "link.width"),
        (GPU, "link.speed"),
        (GPU, "link.width"),
        (NIC, "link.speed"),
        (NIC, "link.width"),
    ]


def test_a_switch_below_a_switch_has_a_link_of_its_own(tmp_path: Path) -> None:
    leaf = upstream_port("0000:23:00.0", below="0000:22:00.0", express=EIGHT_LANES)
    audited = judged(cascade(tmp_path, instead=[leaf]), NOTHING_ELSE)

    assert finding(audited, "link.width", "0000:23:00.0").state is State.FAIL
    assert finding(audited, "link.width", "0000:27:00.0").state is State.PASS


@pytest.mark.parametrize("finding_id", ["link.width", "link.speed"])
def test_the_most_that_the_function_can_is_as_wanted(tmp_path: Path, finding_id: str) -> None:
    judgement = found(tmp_path, finding_id)

    assert (judgement.state, judgement.reason) == (State.PASS, "")


def test_fewer_lanes_than_both_ends_can_are_told(tmp_path: Path) -> None:
    width = found(tmp_path, "link.width", nic(NIC, below=NIC_PORT, express=EIGHT_LANES))

    assert (width.state, width.severity) == (State.FAIL, Severity.INFO)
    assert (width.found.text, width.wanted.text) == ("x8", "x16")
    assert width.reason == "x8 of x16: both ends can x16, so the link trained down"
    assert width.remedy
    assert width.remedy.kind is RemedyKind.HARDWARE


def test_no_more_lanes_are_wanted_than_the_port_above_can(tmp_path: Path) -> None:
    width = found(
        tmp_path,
        "link.width",
        nic(NIC, below=NIC_PORT, express=EIGHT_LANES),
        downstream_port(NIC_PORT, below=UPSTREAM_PORT, express=Express(lanes=8)),
    )

    assert (width.state, width.found.text, width.wanted.text) == (State.PASS, "x8", "x8")


def test_a_port_that_names_no_width_says_nothing_of_the_other_end(tmp_path: Path) -> None:
    width = found(
        tmp_path,
        "link.width",
        nic(NIC, below=NIC_PORT, express=EIGHT_LANES),
        downstream_port(NIC_PORT, below=UPSTREAM_PORT, express=Express(speed=0, lanes=0)),
    )

    assert (width.state, width.wanted.text) == (State.FAIL, "x16")


@pytest.mark.parametrize("finding_id", ["link.width", "link.speed"])
def test_a_link_that_is_down_is_told(tmp_path: Path, finding_id: str) -> None:
    down = working(nic(NIC, below=NIC_PORT, express=Express(running=(0, 0))))

    judgement = found(tmp_path, finding_id, down)

    assert (judgement.state, judgement.found.text) == (State.FAIL, "no link")


@pytest.mark.parametrize("finding_id", ["link.width", "link.speed"])
def test_a_function_that_is_capable_of_no_link_is_not_judged(
    tmp_path: Path, finding_id: str
) -> None:
    emulated = nic(NIC, below=NIC_PORT, express=Express(speed=0, lanes=0))

    assert found(tmp_path, finding_id, emulated).state is State.NOT_APPLICABLE


def test_a_working_nic_that_is_slower_than_both_ends_can_is_told(tmp_path: Path) -> None:
    speed = found(tmp_path, "link.speed", working(nic(NIC, below=NIC_PORT, express=SLOW)))

    assert (speed.state, speed.severity) == (State.FAIL, Severity.INFO)
    assert (speed.found.text, speed.found.value) == ("8 GT/s", "8")
    assert (speed.wanted.text, speed.wanted.value) == ("16 GT/s", "16")
    assert speed.reason == "8 GT/s of 16 GT/s: both ends can 16 GT/s, so the link trained down"


@pytest.mark.parametrize(
    ("nic_as_it_is", "why"),
    [
        pytest.param(nic(NIC, below=NIC_PORT, express=SLOW), "no driver has it", id="no driver"),
        pytest.param(
            nic(NIC, below=NIC_PORT, driver="vfio-pci", express=SLOW),
            "vfio-pci has not enabled it",
            id="waits for a VM",
        ),
        pytest.param(
            working(nic(NIC, below=NIC_PORT, express=SLOW), power_state="D3hot"),
            "it is in D3hot",
            id="asleep",
        ),
        pytest.param(
            working(
                nic(NIC, below=NIC_PORT, express=SLOW), **{"power/runtime_status": "suspended"}
            ),
            "it is suspended",
            id="suspended",
        ),
    ],
)
def test_the_speed_of_what_is_idle_is_not_judged(
    tmp_path: Path, nic_as_it_is: Function, why: str
) -> None:
    speed = found(tmp_path, "link.speed", nic_as_it_is)

    assert (speed.state, speed.found.text) == (State.NOT_APPLICABLE, "8 GT/s")
    assert speed.reason.startswith("not judged")
    assert speed.reason.endswith(why)


def test_a_dump_does_not_tell_whether_a_slow_nic_is_idle(tmp_path: Path) -> None:
    slow = nic(NIC, below=NIC_PORT, express=SLOW)
    functions = [slow if f.address == NIC else f for f in one_switch_functions()]
    (tmp_path / "dump").write_text(dump(functions))

    with open_host([tmp_path / "dump"]) as host:
        speed = finding(judge(host, NOTHING_ELSE), "link.speed", NIC)

    assert speed.state is State.NOT_APPLICABLE
    assert speed.reason.endswith("whether a driver has it is not known")


def test_a_switch_is_not_idle_without_a_driver_of_its_own(tmp_path: Path) -> None:
    port = replace(upstream_port(UPSTREAM_PORT, below=ROOT_PORT, express=SLOW), driver=None)

    assert found(tmp_path, "link.speed", port, at=UPSTREAM_PORT).state is State.FAIL


def test_a_slow_gpu_may_have_been_slowed_down_by_its_driver(tmp_path: Path) -> None:
    slow = working(gpu(GPU, below=GPU_PORT, express=SLOW))

    speed = found(tmp_path, "link.speed", slow, at=GPU)

    assert speed.state is State.FAIL
    assert "look again while the GPU works" in speed.reason


def test_a_port_that_is_set_to_a_lower_speed_holds_the_link_back(tmp_path: Path) -> None:
    speed = found(
        tmp_path,
        "link.speed",
        working(nic(NIC, below=NIC_PORT, express=SLOW)),
        downstream_port(NIC_PORT, below=UPSTREAM_PORT, express=Express(target=3)),
    )

    assert speed.reason == f"8 GT/s: Target Link Speed of {NIC_PORT} holds it back"
    assert speed.remedy
    assert speed.remedy.kind is RemedyKind.BIOS


def test_a_speed_that_is_not_known_yet_is_compared_all_the_same(tmp_path: Path) -> None:
    speed = found(
        tmp_path,
        "link.speed",
        working(nic(NIC, below=NIC_PORT, express=Express(speed=8, running=(7, 16)))),
        downstream_port(NIC_PORT, below=UPSTREAM_PORT, express=Express(speed=8)),
    )

    assert (speed.state, speed.found.text) == (State.FAIL, "speed code 7")
    assert (speed.found.value, speed.wanted.text) == (None, "speed code 8")


@pytest.mark.parametrize("finding_id", ["link.width", "link.speed"])
def test_what_does_not_answer_is_no_pass_and_no_reason_to_differ(
    tmp_path: Path, finding_id: str
) -> None:
    tree = one_switch(tmp_path)
    all_ones(tree, GPU)

    judgement = found(tmp_path, finding_id, at=GPU, tree=tree)

    assert (judgement.state, judgement.severity) == (State.ERROR, Severity.INFO)
    assert judgement.exit_code(strict=True) is ExitCode.OK


def test_the_upper_end_is_not_asked_where_the_lower_runs_at_its_most(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    all_ones(tree, NIC_PORT)

    assert found(tmp_path, "link.width", tree=tree).state is State.PASS


def test_the_upper_end_must_answer_where_it_matters(tmp_path: Path) -> None:
    tree = one_switch(tmp_path, instead=[nic(NIC, below=NIC_PORT, express=EIGHT_LANES)])
    all_ones(tree, NIC_PORT)

    assert found(tmp_path, "link.width", tree=tree).state is State.ERROR
