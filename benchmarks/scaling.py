"""How an audit's time grows with the host, most of whose functions are the NICs' VFs."""

from trees.host import TreeHost

from benchmarks.figure import Figure
from benchmarks.hosts import host_of_switches
from benchmarks.in_turns import PCIETUNE, Command, compare

_ROUNDS = 5
_VFS = 59  # of each of a switch's two NICs, which makes 128 functions a switch
_BOUND = 4.4  # four times the functions, and a tenth for what grows faster


def scaling() -> list[Figure]:
    """Compare the audits of hosts with 16,384 and with 4,096 functions."""
    with (
        host_of_switches(128, vfs_per_nic=_VFS) as large,
        host_of_switches(32, vfs_per_nic=_VFS) as small,
    ):
        times = compare(_audit(large), _audit(small), rounds=_ROUNDS)
    return [Figure("audit of 16,384 functions : of 4,096", str(times), times.ratio, _BOUND)]


def _audit(host: TreeHost) -> Command:
    arguments = ("audit", "--mode", "vm", "--profile", "gpu-rdma", "--from", host.root)
    return Command([*PCIETUNE, *arguments], exit_code=3)
