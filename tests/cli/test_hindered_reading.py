"""Hosts that cannot be read in part: what is said of that, and that nothing is written there."""

from dataclasses import replace
from pathlib import Path

import pytest
from cli.in_process import Pcietune
from trees.dump import dump, one_switch_functions
from trees.function import Function, downstream_port, nic
from trees.machines import one_switch

UPSTREAM, NIC_PORT, NIC = "0000:21:00.0", "0000:22:04.0", "0000:24:00.0"
GPU = "0000:23:00.0"
VM = ("--profile", "gpu-rdma", "--mode", "vm")
DIRECT = "port.nic-side.DirectTrans"


def _nic_port() -> Function:
    return downstream_port(NIC_PORT, below=UPSTREAM)


def _with_short_config(size: int) -> Function:
    port = _nic_port()
    return replace(port, config=port.config.cut(size))


def _silent() -> Function:
    """Return a port that answers nothing, as one whose switch fell off the bus."""
    port = _nic_port()
    return replace(port, config=port.config.all_ones())


def _asleep() -> Function:
    return replace(_nic_port(), attributes={"power_state": "D3cold"})


HINDERED = pytest.mark.parametrize(
    ("port", "exit_code", "reason"),
    [
        pytest.param(
            _with_short_config(64),
            5,
            "only the first 64 bytes were recorded; record the host again as root",
            id="64 bytes",
        ),
        pytest.param(
            _with_short_config(256),
            6,
            "the kernel reaches only 256 bytes, no Extended Configuration Space; "
            "ECAM (MMCONFIG) is missing or a conventional bridge is in the way; see dmesg",
            id="256 bytes",
        ),
        pytest.param(_silent(), 6, "does not answer", id="all ones"),
        pytest.param(
            _asleep(),
            6,
            "is in D3cold and is not woken to be looked at; "
            f"wake it: echo on > /sys/bus/pci/devices/{NIC_PORT}/power/control",
            id="D3cold",
        ),
    ],
)


@HINDERED
def test_a_port_that_cannot_be_read_is_said_so_with_a_hint(
    pcietune: Pcietune, tmp_path: Path, port: Function, exit_code: int, reason: str
) -> None:
    one_switch(tmp_path, instead=[port])

    run = pcietune("audit", "--from", tmp_path, *VM, "--json")

    finding = run.finding(DIRECT, NIC_PORT)
    message, _, hint = reason.partition("; ")
    assert run.exit_code == exit_code
    assert (finding.state, finding.found.text) == ("error", "not known")
    assert NIC_PORT in finding.reason
    assert message in finding.reason
    assert finding.remedy is not None
    assert hint in finding.remedy.command


@HINDERED
def test_a_switch_group_with_a_port_that_cannot_be_read_is_not_begun(
    pcietune: Pcietune, tmp_path: Path, port: Function, exit_code: int, reason: str
) -> None:
    one_switch(tmp_path, instead=[port])

    run = pcietune("apply", "--from", tmp_path, "--in-place", *VM, "--json")

    (left,) = (one for one in run.document().residual if one.what == "switch group not begun")
    assert run.exit_code == exit_code
    assert (run.document().writes, run.document().changed) == ([], False)
    assert left.path == "0000:20:01.0/00.0"
    assert reason.partition("; ")[0] in left.reason


def test_a_nic_in_d3cold_is_not_woken_for_its_ats(pcietune: Pcietune, tmp_path: Path) -> None:
    asleep = replace(nic(NIC, below=NIC_PORT), attributes={"power_state": "D3cold"})
    one_switch(tmp_path, instead=[asleep])

    run = pcietune("audit", "--from", tmp_path, *VM, "--json")

    assert run.finding("nic.ats", NIC).state == "error"
    assert "D3cold" in run.finding("nic.ats", NIC).reason


def test_without_an_iommu_vm_mode_fails_with_that_as_cause(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    one_switch(tmp_path, iommu=False)

    run = pcietune("audit", "--from", tmp_path, *VM, "--json")

    enabled = run.finding("iommu.enabled", "host")
    assert run.exit_code == 3
    assert enabled.state == "fail"
    assert enabled.reason == "no IOMMU is on: VFIO has nothing to isolate functions with"
    assert enabled.remedy is not None
    assert enabled.remedy.kind == "kernel-args"
    assert run.document().reboot_required
    assert "no IOMMU answers translation requests" in run.finding("nic.ats", NIC).reason


@pytest.mark.parametrize("command", ["audit", "plan", "status"])
def test_a_gpu_that_makes_no_sense_is_not_taken_for_none(
    pcietune: Pcietune, tmp_path: Path, command: str
) -> None:
    host = one_switch(tmp_path)
    (host.directory("0000:23:00.0") / "uevent").write_text("")

    run = pcietune(command, "--from", tmp_path, "--mode", "vm")

    assert run.exit_code == 6
    assert "no GPU" not in run.stdout
    assert "/sys/bus/pci/devices/0000:23:00.0 is not what the kernel makes" in run.stderr


def test_a_function_of_a_dump_that_reads_as_all_ones_may_be_a_gpu(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    functions = one_switch_functions()
    silent = [replace(f, config=f.config.all_ones()) for f in functions if f.address == GPU]
    text = dump([f for f in functions if f.address != GPU] + silent)
    file = tmp_path / "host.lspci"
    file.write_text(text)

    run = pcietune("audit", "--from", file, "--mode", "vm")

    assert run.exit_code == 6
    assert "no GPU" not in run.stdout
    assert f"{GPU} reads as all ones, so what it is is not known" in run.stderr


def test_topo_names_a_function_that_makes_no_sense(pcietune: Pcietune, tmp_path: Path) -> None:
    host = one_switch(tmp_path)
    (host.directory("0000:21:00.0") / "uevent").write_text("")

    run = pcietune("topo", "--from", tmp_path)

    assert run.exit_code == 6
    assert "/sys/bus/pci/devices/0000:21:00.0 is not what the kernel makes" in run.stderr
    assert "0000:23:00.0" in run.stdout


def test_a_silent_upstream_port_is_an_error_since_paths_part_where_it_says(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    host = one_switch(tmp_path)
    host.config(UPSTREAM).write_bytes(b"\xff" * 4096)

    run = pcietune("audit", "--from", tmp_path, *VM, "--json")

    assert run.finding("port.type", UPSTREAM).state == "error"
    assert "does not answer" in run.finding("port.type", UPSTREAM).reason
