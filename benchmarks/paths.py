"""What it costs to follow the packets of all pairs of a host."""

import struct
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from trees.config import ENDPOINT, ConfigBuilder
from trees.dump import dump
from trees.function import Function

from benchmarks.figure import Figure
from benchmarks.hosts import host_of_switches, switch_functions
from benchmarks.in_turns import PCIETUNE, Command, compare
from benchmarks.jobs import audit

_SWITCHES, _VFS_PER_NIC = 8, 128  # 16 GPUs, 16 NICs and 2,048 VFs
_ROUNDS = 7
_TIMES_ITS_AUDIT = 3
_ARGUMENTS = ("--mode", "vm", "--profile", "gpu-rdma", "--from")


def paths() -> list[Figure]:
    """Compare the paths of a host with its audit, and those of a dump with what lspci takes."""
    with host_of_switches(_SWITCHES, vfs_per_nic=_VFS_PER_NIC) as host:
        pairs = compare(_paths(host.root), audit(host), rounds=_ROUNDS)
    with _dumped() as file:
        lspci = Command(["lspci", "-F", file, "-D", "-vvv"])
        texts = compare(_paths(file), lspci, rounds=_ROUNDS)
    return [
        Figure(
            "paths of 16 GPUs, 16 NICs, 2,048 VFs : their audit",
            str(pairs),
            pairs.ratio,
            _TIMES_ITS_AUDIT,
        ),
        Figure("paths on a dump of them : lspci -F -vvv", str(texts), texts.ratio, 1),
    ]


def _paths(source: Path) -> Command:
    return Command([*PCIETUNE, "paths", *_ARGUMENTS, source])


@contextmanager
def _dumped() -> Iterator[Path]:
    """Yield the host as ``lspci -D -xxxx`` prints it, in a file that is removed in the end."""
    functions = [
        _counting_its_vfs(function)
        for domain in range(_SWITCHES)
        for function in switch_functions(f"{domain:04x}", _VFS_PER_NIC)
    ]
    with tempfile.NamedTemporaryFile("w", prefix="pcietune-benchmark-", suffix=".txt") as file:
        file.write(dump(functions))
        file.flush()
        yield Path(file.name)


def _counting_its_vfs(function: Function) -> Function:
    """Return a function that says in its registers, if it is a NIC, which VFs it has."""
    if function.config.class_code != 0x020700 or function.physical_function is not None:
        return function
    config = ConfigBuilder("15b3:101b", 0x020700, subsystem="15b3:0007").express(ENDPOINT)
    config.ats(0x0020, 0x8000, at=0x140)
    config.sriov(total=_VFS_PER_NIC, enabled=_VFS_PER_NIC, vf_device=0x101C, at=0x100)
    config.put(0x114, struct.pack("<HH", 1, 1))  # First VF Offset, VF Stride
    return Function(function.address, config, below=function.below)
