"""What ``paths A B`` says of bandwidth, and how it compares results by ``--measured``."""

from pathlib import Path

import pytest
from cli.in_process import Pcietune
from trees.function import downstream_port
from trees.host import TreeHost
from trees.machines import one_switch
from tune.judged import GPU, GPU_PORT, NIC, NIC_PORT


def _without_acs(root: Path) -> TreeHost:
    ports = [downstream_port(port, below="0000:21:00.0", acs=None) for port in (NIC_PORT, GPU_PORT)]
    return one_switch(root, iommu=False, instead=ports)


def _results(root: Path, average: str) -> Path:
    out = root / "out.txt"
    out.write_text(
        "                    RDMA_Write BW Test\n"
        " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
        f" 1048576    112000           0.00             {average}             0.0257\n"
    )
    return out


def test_a_pairs_bandwidth_and_what_measures_it_is_told(pcietune: Pcietune, tmp_path: Path) -> None:
    run = pcietune("paths", "NIC0", "GPU0", "--from", _without_acs(tmp_path).root)

    assert run.exit_code == 0
    assert (
        f"bandwidth  NIC0 writes to GPU0: 31.5 GB/s each way (estimate: 16 GT/s x16 below "
        f"{NIC_PORT})"
    ) in run.stdout
    assert f"--use_cuda_bus_id={GPU}" in run.stdout


def test_in_vm_mode_the_shared_uplink_is_told_and_measured_in_the_vm(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    tree = one_switch(tmp_path)
    run = pcietune("paths", NIC, GPU, "--mode", "vm", "--from", tree.root)

    assert "which 2 peers share and every byte crosses twice" in run.stdout
    assert "# run these in the VM that has both" in run.stdout


def test_results_are_compared_with_the_way(pcietune: Pcietune, tmp_path: Path) -> None:
    root = _without_acs(tmp_path).root
    out = _results(tmp_path, "216.00")  # 27 GB/s
    run = pcietune("paths", "NIC0", "GPU0", "--measured", out, "--from", root)

    assert run.exit_code == 0
    assert (
        f"measured  {out}:3: perftest RDMA_Write: 27 GB/s, as a direct way; 86% of the narrowest "
        "link's 31.5 GB/s (estimate)"
    ) in run.stdout
    assert "to measure it" not in run.stdout


def test_results_that_make_no_sense_are_refused(pcietune: Pcietune, tmp_path: Path) -> None:
    root = _without_acs(tmp_path).root
    run = pcietune("paths", "NIC0", "GPU0", "--measured", _results(tmp_path, "x"), "--from", root)

    assert run.exit_code == 4
    assert "out.txt:3: 'x' is no figure" in run.stderr


@pytest.mark.parametrize("others", [(), ("NIC0", "GPU0", "--json"), ("--isolation",)])
def test_results_are_of_one_pair(
    pcietune: Pcietune, tmp_path: Path, others: tuple[str, ...]
) -> None:
    root = _without_acs(tmp_path).root
    out = _results(tmp_path, "216.00")
    run = pcietune("paths", *others, "--measured", out, "--from", root)

    assert run.exit_code == 4
    assert "--measured compares results with one pair" in run.stderr
