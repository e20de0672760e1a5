"""How pcietune stands on a live host, as status tells it."""

from pathlib import Path

import pytest
from cli.in_process import Pcietune
from systemd.unit_files import Host
from trees.machines import one_switch

from pcietune.cli.judging import Request, judge
from pcietune.cli.keeping import leave_policy
from pcietune.cli.standing import standing_of
from pcietune.host.host_files import HostFiles
from pcietune.host.sysfs import SysfsHost
from pcietune.model.boot_guard import BootGuard
from pcietune.model.profile import ModeName
from pcietune.report.outcome import Outcome
from pcietune.report.standing import standing

NOT_ENABLED = [
    "unit     pcietune-apply.service: not enabled",
    "unit     pcietune-audit.timer: not enabled",
    "unit     pcietune-watch.service: not enabled",
]


def told(root: Path, guard: BootGuard | None = None) -> list[str]:
    host = SysfsHost(HostFiles(root, recorded=False))
    return list(standing(Outcome(standing=standing_of(host), guard=guard)))


def test_a_host_without_the_units_says_so(tmp_path: Path) -> None:
    one_switch(tmp_path)

    assert told(tmp_path) == [
        "unit     pcietune-apply.service: not installed",
        "unit     pcietune-audit.timer: not installed",
        "unit     pcietune-watch.service: not installed",
        "policy   none of this boot: the udev rule does nothing until pcietune apply was run",
    ]


def test_what_is_enabled_is_what_systemctl_enabled(tmp_path: Path) -> None:
    one_switch(tmp_path)
    installed = Host(tmp_path)
    assert told(tmp_path)[:-1] == NOT_ENABLED

    installed.enable("pcietune-apply.service", "pcietune-vfio@nvidia-fabricmanager.service")

    assert told(tmp_path)[:-1] == [
        "unit     pcietune-apply.service: enabled",
        *NOT_ENABLED[1:],
        "unit     pcietune-vfio@nvidia-fabricmanager.service: enabled",
    ]


def test_what_is_enabled_for_this_boot_only_is_enabled(tmp_path: Path) -> None:
    one_switch(tmp_path)
    Host(tmp_path).enable("--runtime", "pcietune-watch.service")

    assert told(tmp_path)[2] == "unit     pcietune-watch.service: enabled"


@pytest.mark.parametrize("options", [(), ("--runtime",)])
def test_a_masked_unit_is_not_called_enabled(tmp_path: Path, options: tuple[str, ...]) -> None:
    one_switch(tmp_path)
    installed = Host(tmp_path)
    installed.enable("pcietune-apply.service")
    installed.mask("pcietune-apply.service", *options)

    assert told(tmp_path)[0] == "unit     pcietune-apply.service: masked"


@pytest.mark.parametrize(
    ("guard", "said"),
    [
        (BootGuard(None), ["guard    off: nobody noted that this boot began"]),
        (BootGuard(1), ["guard    on; boots before this one that did not come up: 1"]),
        (BootGuard(2), []),
    ],
)
def test_status_says_whether_the_guard_watches(
    tmp_path: Path, guard: BootGuard, said: list[str]
) -> None:
    one_switch(tmp_path)

    assert [line for line in told(tmp_path, guard) if line.startswith("guard")] == said


def test_the_policy_of_this_boot_is_told(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    (tmp_path / "run").mkdir()
    (tmp_path / "var/lib").mkdir(parents=True)
    host = SysfsHost(HostFiles(tmp_path, recorded=False))
    outcome = Outcome()
    judge(host, Request("gpu-rdma", ModeName.VM), outcome)
    assert outcome.audit
    leave_policy(host, outcome.audit, enforce=False, unattended=True)

    # the NIC's port lacks DirectTrans, the GPU's ports owe nothing more
    assert told(tmp_path)[-1] == (
        "policy   of this boot, the udev hook only judges: 1 of 2 functions as wanted"
    )
    leave_policy(host, outcome.audit, enforce=True, unattended=True)
    assert "the udev hook may write: " in told(tmp_path)[-1]
    tree.put("etc/pcietune/pcietune.yaml", "enforce: audit")
    assert "the udev hook only judges until the next apply, as the sett" in told(tmp_path)[-1]
    tree.put("proc/sys/kernel/random/boot_id", "00000000-0c43-4a5b-9a52-2f5d7f4c8e01")
    assert told(tmp_path)[-1].startswith("policy   none of this boot")


def test_a_recorded_host_does_not_tell(pcietune: Pcietune, tmp_path: Path) -> None:
    one_switch(tmp_path)

    lines = pcietune("status", "--from", tmp_path).stdout.splitlines()

    assert [line for line in lines if line.startswith(("unit", "policy"))] == []
