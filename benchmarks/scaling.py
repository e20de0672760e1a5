"""How the time of audit and apply grows with the host, most of whose functions are VFs."""

from benchmarks.figure import Figure
from benchmarks.hosts import VFS_PER_NIC, host_of_switches
from benchmarks.in_turns import compare
from benchmarks.jobs import apply, audit, untune

_ROUNDS = 5
_BOUND = 4.4  # four times the functions, and a tenth for what grows faster


def scaling() -> list[Figure]:
    """Compare hosts with 16,384 and with 4,096 functions."""
    with (
        host_of_switches(128, vfs_per_nic=VFS_PER_NIC) as large,
        host_of_switches(32, vfs_per_nic=VFS_PER_NIC) as small,
    ):
        applies = compare(apply(large), apply(small), rounds=_ROUNDS)
        untune(large)
        untune(small)
        audits = compare(audit(large), audit(small), rounds=_ROUNDS)
    return [
        Figure("audit of 16,384 functions : of 4,096", str(audits), audits.ratio, _BOUND),
        Figure("apply of 16,384 functions : of 4,096", str(applies), applies.ratio, _BOUND),
    ]
