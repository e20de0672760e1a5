from dataclasses import replace
from pathlib import Path

import pytest
from trees.function import Function, downstream_port
from trees.host import TreeHost
from trees.machines import one_switch
from tune.judged import GPU_PORT, NIC_PORT, ROOT_PORT, judged
from tune.profiles import with_mode

from pcietune.errors import ExitCode
from pcietune.model.finding import RemedyKind, State
from pcietune.model.profile import Mode, RuntimePmPolicy
from pcietune.model.severity import Severity
from pcietune.tune.audit.judge_runtime_pm import JudgedPower

UPSTREAM_PORT = "0000:21:00.0"
JUDGE, KEEP_ON, IGNORE = RuntimePmPolicy.JUDGE, RuntimePmPolicy.KEEP_ON, RuntimePmPolicy.IGNORE


def power(tree: TreeHost, policy: RuntimePmPolicy) -> dict[str, JudgedPower]:
    audited = judged(tree, with_mode(Mode({}, runtime_pm=policy)))
    return {str(each.port.address): each for each in audited.power}


def set_auto(**attributes: str) -> Function:
    """Return the NIC's port, as a power saving daemon leaves it."""
    port = downstream_port(NIC_PORT, below=UPSTREAM_PORT)
    return replace(port, attributes={"power/control": "auto", **attributes})


def test_every_port_up_to_the_root_is_judged(tmp_path: Path) -> None:
    assert list(power(one_switch(tmp_path), JUDGE)) == [
        ROOT_PORT,
        UPSTREAM_PORT,
        GPU_PORT,
        NIC_PORT,
    ]


@pytest.mark.parametrize("policy", [JUDGE, KEEP_ON])
def test_a_port_that_is_kept_awake_is_as_wanted(tmp_path: Path, policy: RuntimePmPolicy) -> None:
    port = power(one_switch(tmp_path), policy)[NIC_PORT]

    assert (port.finding.state, port.control, port.writable) == (State.PASS, "on", False)


def test_a_port_that_may_sleep_is_told(tmp_path: Path) -> None:
    port = power(one_switch(tmp_path, instead=[set_auto()]), JUDGE)[NIC_PORT]

    assert (port.finding.state, port.finding.severity) == (State.FAIL, Severity.INFO)
    assert (port.control, port.writable) == ("auto", False)
    assert "may sleep while all below is idle" in port.finding.reason
    assert port.finding.remedy
    assert port.finding.remedy.command.startswith(
        f"echo on > /sys/bus/pci/devices/{NIC_PORT}/power/control"
    )


def test_a_port_that_sleeps_now_is_told_so(tmp_path: Path) -> None:
    asleep = set_auto(**{"power/runtime_status": "suspended"})

    port = power(one_switch(tmp_path, instead=[asleep]), JUDGE)[NIC_PORT]

    assert "sleeps now" in port.finding.reason


def test_where_the_profile_keeps_ports_awake_apply_may_write(tmp_path: Path) -> None:
    ports = power(one_switch(tmp_path, instead=[set_auto()]), KEEP_ON)

    assert {address for address, port in ports.items() if port.writable} == {NIC_PORT}
    failing = ports[NIC_PORT].finding
    assert (failing.severity, failing.exit_code(strict=False)) == (
        Severity.WARNING,
        ExitCode.DIFFERS,
    )
    assert failing.remedy
    assert failing.remedy.kind is RemedyKind.REGISTER


def test_the_group_is_named_as_apply_names_it(tmp_path: Path) -> None:
    assert power(one_switch(tmp_path), JUDGE)[NIC_PORT].group == "0000:20:01.0/00.0"


def test_what_a_profile_ignores_is_not_looked_at(tmp_path: Path) -> None:
    assert power(one_switch(tmp_path, instead=[set_auto()]), IGNORE) == {}


@pytest.mark.parametrize("policy", [JUDGE, KEEP_ON])
def test_what_cannot_be_read_is_neither_a_pass_nor_written(
    tmp_path: Path, policy: RuntimePmPolicy
) -> None:
    tree = one_switch(tmp_path)
    (tree.directory(NIC_PORT) / "power/control").unlink()

    port = power(tree, policy)[NIC_PORT]

    assert (port.finding.state, port.finding.severity) == (State.ERROR, Severity.INFO)
    assert (port.control, port.writable) == (None, False)


def test_a_word_that_the_kernel_does_not_have_is_not_known(tmp_path: Path) -> None:
    port = power(one_switch(tmp_path, instead=[set_auto(**{"power/control": "?"})]), JUDGE)

    assert port[NIC_PORT].finding.state is State.ERROR
