"""The kernel's lists of nodes are ranges (lib/bitmap.c: bitmap_print_to_pagebuf)."""

from pathlib import Path

import pytest
from trees.host import TreeHost

from pcietune.host.host_files import HostFiles
from pcietune.host.numa_nodes import count_nodes_with_cpus


@pytest.mark.parametrize(
    ("text", "count"),
    [("0", 1), ("0-1", 2), ("0-3", 4), ("0,2", 2), ("0-1,8,16-17", 5), ("", None), ("a-b", None)],
)
def test_nodes_with_cpus_are_counted(tmp_path: Path, text: str, count: int | None) -> None:
    tree = TreeHost(tmp_path)
    tree.put("sys/devices/system/node/has_cpu", text)

    assert count_nodes_with_cpus(HostFiles(tmp_path, recorded=True)) == count


def test_a_kernel_without_numa_does_not_tell(tmp_path: Path) -> None:
    assert count_nodes_with_cpus(HostFiles(tmp_path, recorded=True)) is None
