"""NUMA nodes as the kernel shows them, on a host, in its recording, and where they are not told."""

import os
import subprocess
from pathlib import Path

import pytest
from trees.host import TreeHost
from trees.machines import one_switch
from trees.nodes import add_node

from pcietune.host.cpu_list import parse_list
from pcietune.host.host_files import HostFiles
from pcietune.host.numa_nodes import read_nodes
from pcietune.host.recordings.recording import record
from pcietune.host.source import open_host
from pcietune.host.sysfs import SysfsHost
from pcietune.model.numa_node import Hugepages

GIB = 1 << 20  # in KiB


@pytest.fixture
def tree(tmp_path: Path) -> TreeHost:
    """Return a host of two sockets with two threads a core, numbered as Linux does on x86."""
    tree = one_switch(tmp_path / "host")
    add_node(
        tree,
        0,
        cpus="0-3,8-11",
        cores=["0,8", "1,9", "2,10", "3,11"],
        distance="10 21",
        hugepages={2048: (512, 500), GIB: (16, 4)},
    )
    add_node(tree, 1, cpus="4-7,12-15", cores=["4,12", "5,13", "6,14", "7,15"], distance="21 10")
    return tree


def _live(tree: TreeHost) -> SysfsHost:
    return SysfsHost(HostFiles(tree.root, recorded=False))


def test_each_node_has_its_cpus_core_by_core(tree: TreeHost) -> None:
    nodes = _live(tree).numa_nodes()

    assert nodes is not None
    assert nodes[0].cpus == (0, 8, 1, 9, 2, 10, 3, 11)
    assert nodes[1].cpus == (4, 12, 5, 13, 6, 14, 7, 15)
    assert nodes[1].siblings[13] == (5, 13)


def test_each_node_has_its_memory_hugepages_and_distances(tree: TreeHost) -> None:
    nodes = _live(tree).numa_nodes()

    assert nodes is not None
    assert nodes[0].memory_kib == 64 * GIB
    assert nodes[0].hugepages == {2048: Hugepages(512, 500), GIB: Hugepages(16, 4)}
    assert [nodes[0].distances, nodes[1].distances] == [(10, 21), (21, 10)]


def test_a_node_of_memory_only_has_no_cpu(tree: TreeHost) -> None:
    add_node(tree, 2, cpus="")

    nodes = _live(tree).numa_nodes()

    assert nodes is not None
    assert nodes[2].cpus == ()


def test_a_cpu_whose_core_is_not_told_stands_alone(tree: TreeHost) -> None:
    add_node(tree, 2, cpus="16-18", cores=["17,18"])

    nodes = _live(tree).numa_nodes()

    assert nodes is not None
    assert nodes[2].cpus == (16, 17, 18)
    assert dict(nodes[2].siblings) == {17: (17, 18), 18: (17, 18)}


def test_kernels_before_5_3_tell_siblings_by_another_name(tree: TreeHost) -> None:
    for file in tree.root.glob("sys/devices/system/cpu/cpu*/topology/core_cpus_list"):
        file.unlink()

    nodes = _live(tree).numa_nodes()

    assert nodes is not None
    assert nodes[0].siblings[9] == (1, 9)


def test_a_sibling_that_is_offline_is_none(tree: TreeHost) -> None:
    tree.put("sys/devices/system/node/node0/cpulist", "0-3")  # of which 8 to 11 were siblings

    nodes = _live(tree).numa_nodes()

    assert nodes is not None
    assert nodes[0].siblings[1] == (1,)
    assert nodes[0].cpus == (0, 1, 2, 3)


def test_what_a_kernel_without_numa_has_is_not_known(tmp_path: Path) -> None:
    assert _live(one_switch(tmp_path)).numa_nodes() is None


def test_nodes_of_a_host_one_of_whose_nodes_does_not_tell_its_cpus_are_not_known(
    tree: TreeHost,
) -> None:
    tree.put("sys/devices/system/node/node1/cpulist", "four to seven")

    assert _live(tree).numa_nodes() is None


def test_what_is_no_number_is_not_known(tree: TreeHost) -> None:
    node = "sys/devices/system/node/node0"
    tree.put(f"{node}/meminfo", "Node 0 MemTotal: plenty")
    tree.put(f"{node}/distance", "ten")
    tree.put(f"{node}/hugepages/hugepages-2048kB/nr_hugepages", "many")
    tree.put(f"{node}/hugepages/hugepages-{GIB}kB/free_hugepages", "some")

    nodes = _live(tree).numa_nodes()

    assert nodes is not None
    assert (nodes[0].memory_kib, nodes[0].distances) == (None, ())
    assert nodes[0].hugepages == {GIB: Hugepages(16, None)}


def test_a_recording_keeps_nodes_but_not_what_is_free(tree: TreeHost, tmp_path: Path) -> None:
    archive = tmp_path / "host.tar"
    live = _live(tree)
    nodes = live.numa_nodes()

    record(live, archive)

    with open_host([archive]) as host:
        recorded = host.numa_nodes()
    assert nodes is not None
    assert recorded is not None
    assert [node.cpus for node in recorded.values()] == [node.cpus for node in nodes.values()]
    assert recorded[1].siblings == nodes[1].siblings
    assert recorded[1].distances == (21, 10)
    assert recorded[0].memory_kib == 64 * GIB
    assert recorded[0].hugepages == {2048: Hugepages(512, None), GIB: Hugepages(16, None)}


def test_recordings_of_a_host_whose_free_memory_changed_are_equal(
    tree: TreeHost, tmp_path: Path
) -> None:
    one, other = tmp_path / "one.tar", tmp_path / "other.tar"
    record(_live(tree), one)
    node = "sys/devices/system/node/node0"
    tree.put(f"{node}/hugepages/hugepages-{GIB}kB/free_hugepages", "0")
    tree.put(f"{node}/meminfo", f"Node 0 MemTotal: {64 * GIB} kB\nNode 0 MemFree: 1 kB")

    record(_live(tree), other)

    assert one.read_bytes() == other.read_bytes()


def test_this_kernel_tells_the_cpus_that_are_online() -> None:
    nodes = read_nodes(HostFiles(Path("/"), recorded=False)) or {}

    online = subprocess.run(["getconf", "_NPROCESSORS_ONLN"], check=True, capture_output=True)
    told = [cpu for node in nodes.values() for cpu in node.cpus]
    assert not nodes or len(told) == int(online.stdout)
    assert len(told) == len(set(told))
    assert not nodes or os.sched_getaffinity(0) <= set(told)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("", ()), ("0-3,8", (0, 1, 2, 3, 8)), ("5", (5,)), ("1-", None), ("0-999999", None)],
)
def test_lists_of_the_kernel_are_ranges(text: str, numbers: tuple[int, ...] | None) -> None:
    assert parse_list(text) == numbers
