"""Expected: drivers/pci/quirks.c, pci_fixup_pericom_acs_store_forward."""

from pathlib import Path

import pytest
from trees.config import DOWNSTREAM_PORT, ConfigBuilder
from trees.function import Function
from trees.host import TreeHost
from trees.machines import one_switch
from tune.judged import NIC_PORT, finding, judged

from pcietune.errors import ExitCode
from pcietune.model.finding import Finding, State
from pcietune.model.severity import Severity


def _pericom(device: str, control: int = 0x001D) -> Function:
    config = ConfigBuilder(f"12d8:{device}", 0x060400).express(DOWNSTREAM_PORT)
    config.acs(0x087F, control)
    return Function(NIC_PORT, config, below="0000:21:00.0", driver="pcieport")


def _on_kernel(tree: TreeHost, release: str) -> Finding:
    tree.put("proc/sys/kernel/osrelease", release)
    return finding(judged(tree), "port.quirk", NIC_PORT)


@pytest.mark.parametrize(
    ("device", "release"),
    [("2303", "5.15.100"), ("2304", "5.10.1"), ("2404", "5.15.200"), ("b404", "6.12.1")],
)
def test_redirection_on_a_kernel_that_does_not_know_the_switch_may_corrupt(
    tmp_path: Path, device: str, release: str
) -> None:
    found = _on_kernel(one_switch(tmp_path, instead=[_pericom(device)]), release)

    assert (found.state, found.severity) == (State.FAIL, Severity.WARNING)
    assert "store-and-forward" in found.reason


@pytest.mark.parametrize(
    ("device", "release"), [("2303", "5.16.0"), ("2404", "6.1.0-18-amd64"), ("b404", "7.0.1")]
)
def test_a_kernel_that_knows_the_switch_takes_care(
    tmp_path: Path, device: str, release: str
) -> None:
    found = _on_kernel(one_switch(tmp_path, instead=[_pericom(device)]), release)

    assert found.state is State.PASS


def test_without_redirection_there_is_nothing_to_corrupt(tmp_path: Path) -> None:
    tree = one_switch(tmp_path, instead=[_pericom("2304", control=0x0011)])

    assert _on_kernel(tree, "5.4.0").state is State.PASS


def test_a_kernel_that_is_not_known_is_never_as_wanted(tmp_path: Path) -> None:
    found = _on_kernel(one_switch(tmp_path, instead=[_pericom("2304")]), "?")

    assert (found.state, found.severity) == (State.ERROR, Severity.INFO)


def test_a_makers_own_kernel_may_carry_the_remedy(tmp_path: Path) -> None:
    tree = one_switch(tmp_path, instead=[_pericom("2304")])

    assert "unless its maker" in _on_kernel(tree, "5.14.0-427.el9.x86_64").reason


def test_other_switches_are_not_asked(tmp_path: Path) -> None:
    assert "port.quirk" not in {f.id for f in judged(one_switch(tmp_path)).findings}


def test_a_port_that_does_not_answer_is_never_as_wanted(tmp_path: Path) -> None:
    silent = _pericom("2304")
    silent.config.all_ones()

    found = _on_kernel(one_switch(tmp_path, instead=[silent]), "6.12.1")

    assert (found.state, found.code) == (State.ERROR, ExitCode.UNREADABLE)
