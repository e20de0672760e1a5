"""Options as the tools' own help has them."""

from dataclasses import replace
from pathlib import Path

from trees.function import gpu
from trees.machines import one_switch
from tune.judged import GPU, NIC, NIC_PORT
from tune.paths_hosts import pair, undescribed

from pcietune.tune.paths.host_memory import Nearness, nearness
from pcietune.tune.paths.measuring import commands
from pcietune.tune.paths.view import Pair, Peer, PeerKind


def nic_and_gpu(root: Path) -> Pair:
    """Return the pair of a host with one of each."""
    return pair(undescribed(one_switch(root)), NIC, GPU)


def two_gpus(root: Path) -> Pair:
    """Return a pair of GPUs."""
    tree = one_switch(root, instead=[gpu("0000:24:00.0", below=NIC_PORT)])
    return pair(undescribed(tree), "GPU0", "GPU1")


def run(lines: tuple[str, ...]) -> list[str]:
    """Return the commands without comments."""
    return [line for line in lines if not line.startswith("#")]


def test_a_nic_is_measured_at_both_ends_with_the_gpus_memory_at_one(tmp_path: Path) -> None:
    lines = commands(nic_and_gpu(tmp_path), in_vm=False)

    ends = run(lines)
    assert all(line.startswith("ib_write_bw -d MLX5_N ") for line in ends)
    assert [f"--use_cuda_bus_id={GPU}" in line for line in ends] == [True, False, False, True]
    assert [line.endswith("_HOST") for line in ends] == [False, True, False, True]
    assert f"# MLX5_N: ls /sys/bus/pci/devices/{NIC}/infiniband" in lines
    assert any("--use_cuda_dmabuf" in line for line in lines)


def test_two_gpus_are_measured_and_their_data_checked(tmp_path: Path) -> None:
    lines = commands(two_gpus(tmp_path), in_vm=False)

    assert any(line.endswith("nvbandwidth -t device_to_device_memcpy_write_ce") for line in lines)
    assert any("all_reduce_perf" in line and line.endswith("-c 1") for line in run(lines))
    assert any(GPU in line and "--query-gpu=index,pci.bus_id" in line for line in lines)


def test_a_hosts_addresses_are_not_told_for_a_vm(tmp_path: Path) -> None:
    for found in (nic_and_gpu(tmp_path / "nic"), two_gpus(tmp_path / "gpus")):
        lines = commands(found, in_vm=True)

        assert lines[0].startswith("# run these in the VM that has both")
        assert not any(GPU in line or NIC in line for line in lines)


def test_a_drive_is_measured_into_the_gpu(tmp_path: Path) -> None:
    found = nic_and_gpu(tmp_path)
    drive = replace(found, one=replace(found.one, kind=PeerKind.NVME))

    assert "gdsio -f FILE -d I -w 8 -s 10G -i 1M -x 0 -I 0" in commands(drive, in_vm=False)


def test_of_other_vendors_no_program_is_made_up(tmp_path: Path) -> None:
    found = nic_and_gpu(tmp_path)
    function = replace(found.other.function, vendor=0x8086)
    other = replace(found, other=replace(found.other, function=function))

    assert run(commands(other, in_vm=False)) == []


def test_amds_gpus_are_named_by_index(tmp_path: Path) -> None:
    found = nic_and_gpu(tmp_path)
    function = replace(found.other.function, vendor=0x1002)
    other = replace(found, other=replace(found.other, function=function))

    lines = commands(other, in_vm=False)
    assert "--use_rocm=I" in run(lines)[0]
    assert "# I: rocm-smi --showbus" in lines


def peer(root: Path, node: int | None) -> Peer:
    """Return a NIC on a NUMA node."""
    return replace(nic_and_gpu(root).one, numa_node=node)


def test_memory_of_ones_own_node_is_near(tmp_path: Path) -> None:
    assert nearness(peer(tmp_path, 1), 1, 2) is Nearness.LOCAL
    assert nearness(peer(tmp_path / "far", 1), 0, 2) is Nearness.REMOTE


def test_with_one_node_all_memory_is_near(tmp_path: Path) -> None:
    assert nearness(peer(tmp_path, None), 0, 1) is Nearness.LOCAL


def test_no_node_is_made_up(tmp_path: Path) -> None:
    assert nearness(peer(tmp_path, None), 0, 2) is Nearness.UNKNOWN
    assert nearness(peer(tmp_path / "none", -1), 0, None) is Nearness.UNKNOWN
