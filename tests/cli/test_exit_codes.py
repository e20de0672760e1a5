"""Exit codes: each with a JSON document that tells it, and of several the gravest."""

import fcntl
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from cli.in_process import Pcietune
from trees.function import Function, downstream_port, nic
from trees.host import TreeHost
from trees.machines import one_switch

UPSTREAM, NIC_PORT, NIC = "0000:21:00.0", "0000:22:04.0", "0000:24:00.0"
VM = ("--profile", "gpu-rdma", "--mode", "vm")

_SPECIFIC = """\
version: 1
summary: for a test
match: {ids: ["10de:20f3"], dmi: {sys_vendor: "Example*"}}
roles:
  gpu: {ids: ["10de:20f3"], trusted: true}
  nic: {ids: ["15b3:101b"], place: gpu-switch, trusted: true}
modes:
  vm:
    ports: {nic-side: {set: [DirectTrans+]}}
    ats: judge
    iommu: device-tlb
    groups: separate
"""


def _nic_port(size: int) -> Function:
    """Return the port above the NIC with only ``size`` bytes of Configuration Space."""
    port = downstream_port(NIC_PORT, below=UPSTREAM)
    return replace(port, config=port.config.cut(size))


# Every exit code that has a document. 7 and 8 need a register that ignores a write.


def _no_gpu(root: Path) -> tuple[str | Path, ...]:
    TreeHost(root)
    return ("audit", "--from", root, "--mode", "vm")


def _differs(root: Path) -> tuple[str | Path, ...]:
    return ("audit", "--from", one_switch(root).root, *VM)


def _no_mode(root: Path) -> tuple[str | Path, ...]:
    return ("audit", "--from", one_switch(root).root)


def _no_host(root: Path) -> tuple[str | Path, ...]:
    return ("audit", "--from", root / "missing", *VM)


def _not_permitted(root: Path) -> tuple[str | Path, ...]:
    return ("audit", "--from", one_switch(root, instead=[_nic_port(64)]).root, *VM)


def _locked_down(root: Path) -> tuple[str | Path, ...]:
    one_switch(root).put("sys/kernel/security/lockdown", "none [integrity] confidentiality")
    return ("apply", "--from", root, "--in-place", *VM)


def _not_readable(root: Path) -> tuple[str | Path, ...]:
    return ("plan", "--from", one_switch(root, instead=[_nic_port(256)]).root, *VM)


def _wrong_profile(root: Path) -> tuple[str | Path, ...]:
    host = one_switch(root)
    for name in ("ours", "theirs"):
        host.put(f"etc/pcietune/profiles.d/{name}.yaml", _SPECIFIC)
    return ("status", "--from", root)


def _switched_off(root: Path) -> tuple[str | Path, ...]:
    one_switch(root).put("etc/pcietune/disabled", "")
    return ("apply", "--from", root, "--in-place", *VM)


@pytest.mark.parametrize(
    ("prepare", "exit_code"),
    [
        pytest.param(_no_gpu, 0, id="0 no GPU"),
        pytest.param(_differs, 3, id="3 differs"),
        pytest.param(_no_mode, 4, id="4 no mode"),
        pytest.param(_no_host, 4, id="4 no host"),
        pytest.param(_not_permitted, 5, id="5 not readable by this user"),
        pytest.param(_locked_down, 5, id="5 lockdown"),
        pytest.param(_not_readable, 6, id="6 not readable"),
        pytest.param(_wrong_profile, 9, id="9 two profiles"),
        pytest.param(_switched_off, 11, id="11 switched off"),
    ],
)
def test_there_is_one_document_that_tells_the_exit_code(
    pcietune: Pcietune,
    tmp_path: Path,
    prepare: Callable[[Path], tuple[str | Path, ...]],
    exit_code: int,
) -> None:
    run = pcietune(*prepare(tmp_path), "--json")

    assert run.exit_code == exit_code
    assert run.document().exit == exit_code
    assert run.stderr == ""


def test_there_is_a_document_when_another_holds_the_lock(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    host = one_switch(tmp_path)
    with host.put("run/pcietune/lock", "pid 4711, apply").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)

        run = pcietune("apply", "--from", tmp_path, "--in-place", *VM, "--wait", "0", "--json")

    assert (run.exit_code, run.document().exit) == (10, 10)
    assert [error.message for error in run.document().errors] == [
        "another pcietune (pid 4711, apply) is at work on this host"
    ]


# Of several the gravest.


def test_differing_is_graver_than_not_readable(pcietune: Pcietune, tmp_path: Path) -> None:
    one_switch(tmp_path, iommu=False, instead=[_nic_port(256)])

    run = pcietune("audit", "--from", tmp_path, *VM, "--json")

    assert {"fail", "error"} <= {finding.state for finding in run.document().findings}
    assert run.exit_code == 3


def test_not_permitted_is_graver_than_differing(pcietune: Pcietune, tmp_path: Path) -> None:
    one_switch(tmp_path, iommu=False, instead=[_nic_port(64)])

    run = pcietune("audit", "--from", tmp_path, *VM, "--json")

    assert {"fail", "error"} <= {finding.state for finding in run.document().findings}
    assert run.exit_code == 5


def test_switched_off_is_graver_than_differing(pcietune: Pcietune, tmp_path: Path) -> None:
    one_switch(tmp_path).put("etc/pcietune/disabled", "")

    run = pcietune("apply", "--from", tmp_path, "--in-place", *VM, "--json")

    assert "fail" in {finding.state for finding in run.document().findings}
    assert run.exit_code == 11


def test_not_permitted_is_graver_than_switched_off(pcietune: Pcietune, tmp_path: Path) -> None:
    one_switch(tmp_path, instead=[_nic_port(64)]).put("etc/pcietune/disabled", "")

    run = pcietune("apply", "--from", tmp_path, "--in-place", *VM, "--json")

    assert run.document().disabled is not None
    assert run.exit_code == 5


# What plan and status mean by theirs.


def test_a_plan_with_nothing_to_write_exits_0_whatever_else_differs(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    host = one_switch(tmp_path)
    pcietune("apply", "--from", tmp_path, "--in-place", *VM)
    host.put("sys/devices/virtual/iommu/dmar0/intel-iommu/ecap", "f050da")

    audit = pcietune("audit", "--from", tmp_path, *VM, "--json")
    plan = pcietune("plan", "--from", tmp_path, *VM, "--json")

    assert audit.exit_code == 3
    assert (plan.exit_code, plan.document().writes) == (0, [])
    assert {left.what for left in plan.document().residual} == {"iommu.device-tlb", "nic.ats"}
    told = pcietune("plan", "--from", tmp_path, *VM).stdout
    assert (
        "nothing to write\n2 findings that no write mends: pcietune audit tells what does" in told
    )


def test_a_plan_with_something_to_write_exits_3(pcietune: Pcietune, tmp_path: Path) -> None:
    one_switch(tmp_path)

    run = pcietune("plan", "--from", tmp_path, *VM, "--json")

    assert (run.exit_code, len(run.document().writes)) == (3, 1)


def test_status_needs_no_mode_and_says_what_to_do_next(pcietune: Pcietune, tmp_path: Path) -> None:
    one_switch(tmp_path)

    run = pcietune("status", "--from", tmp_path)

    assert run.exit_code == 0
    assert "next     choose a mode: pcietune audit --mode vm, or --mode baremetal" in run.stdout


def test_status_exits_0_where_audit_would_exit_3(pcietune: Pcietune, tmp_path: Path) -> None:
    one_switch(tmp_path)

    run = pcietune("status", "--from", tmp_path, *VM)

    assert run.exit_code == 0
    assert "next     pcietune plan --mode vm shows what can be written now" in run.stdout


def test_strict_counts_what_is_pending(pcietune: Pcietune, tmp_path: Path) -> None:
    off = nic(NIC, below=NIC_PORT, ats=(0x0020, 0x0000))
    host = one_switch(tmp_path, instead=[off])
    for group in range(6):
        host.group_type(group, "identity")
    pcietune("apply", "--from", tmp_path, "--in-place", *VM)

    usual = pcietune("audit", "--from", tmp_path, *VM, "--json")
    strict = pcietune("audit", "--from", tmp_path, *VM, "--json", "--strict")

    assert usual.finding("nic.ats", NIC).state == "pending"
    assert (usual.exit_code, strict.exit_code) == (0, 3)
