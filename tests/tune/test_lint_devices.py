"""Devices that the kernel command line names, looked for on the host."""

from pathlib import Path

import pytest
from trees.host import TreeHost
from tune.judged import at, opened
from tune.kernel_args_hosts import FOREIGN_PORT, NIC_PORT, with_a_foreign_switch

from pcietune.model.profile import ModeName
from pcietune.model.severity import Severity
from pcietune.tune.audit.lint import Lint
from pcietune.tune.audit.lint_devices import lint_devices


def _lints(tree: TreeHost, *options: str, mode: ModeName = ModeName.VM) -> list[Lint]:
    host = opened(tree)
    peers = [at(host, "0000:23:00.0"), at(host, "0000:24:00.0")]
    return [*lint_devices(host, options, {mode: peers})]


@pytest.fixture
def tree(tmp_path: Path) -> TreeHost:
    return with_a_foreign_switch(tmp_path)


def test_a_device_that_is_not_there_may_have_been_renumbered(tree: TreeHost) -> None:
    (lint,) = _lints(tree, "config_acs=1011101@0000:99:00.0")

    assert (lint.token, lint.severity) == ("0000:99:00.0", Severity.WARNING)
    assert "no function of this host is meant by it" in lint.reason


def test_a_port_above_no_gpu_and_no_nic_is_information(tree: TreeHost) -> None:
    (lint,) = _lints(tree, f"disable_acs_redir={FOREIGN_PORT}")

    assert (lint.token, lint.severity) == (FOREIGN_PORT, Severity.INFO)


@pytest.mark.parametrize("device", [NIC_PORT, "0000:22:04.0", "pci:1000:c010", "pci:0:0"])
def test_turning_redirection_off_where_vms_rely_on_it_is_warned_of(
    tree: TreeHost, device: str
) -> None:
    (lint,) = _lints(tree, f"disable_acs_redir={device}")

    assert lint.severity is Severity.WARNING
    assert "0000:22:04.0" in lint.reason
    assert "it is for bare metal" in lint.reason


@pytest.mark.parametrize(
    "option", [f"disable_acs_redir={NIC_PORT}", f"config_acs=0000000@{NIC_PORT}"]
)
def test_on_bare_metal_that_is_as_it_should_be(tree: TreeHost, option: str) -> None:
    assert _lints(tree, option, mode=ModeName.BAREMETAL) == []


def test_what_a_comma_cut_off_is_looked_for_too(tree: TreeHost) -> None:
    option = f"disable_acs_redir={NIC_PORT}"

    lints = _lints(tree, option, "0000:99:00.0", mode=ModeName.BAREMETAL)

    assert [lint.token for lint in lints] == ["0000:99:00.0"]


def test_only_the_word_that_counts_is_looked_at(tree: TreeHost) -> None:
    words = ("config_acs=1@0000:99:00.0", f"config_acs=1011101@{NIC_PORT}")

    assert _lints(tree, *words) == []


def test_where_no_gpu_is_known_nothing_is_said(tree: TreeHost) -> None:
    assert [*lint_devices(opened(tree), ["config_acs=1@0000:99:00.0"], {})] == []
