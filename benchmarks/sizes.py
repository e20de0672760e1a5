"""How pcietune compares with what is usual as hosts grow, and how much memory it takes."""

from collections.abc import Iterator

from trees.host import TreeHost

from benchmarks.figure import Figure
from benchmarks.hosts import FUNCTIONS_PER_SWITCH, VFS_PER_NIC, host_of_switches
from benchmarks.in_turns import compare
from benchmarks.jobs import apply, apply_loop, audit, audit_loop, lspci, untune
from benchmarks.peak_memory import NOTHING, peak_memory

_ROUNDS = {256: 5, 1024: 5, 4096: 3, 16384: 1}  # by functions; a loop over 16,384 takes minutes
_MIB = 1024 * 1024  # bytes


def sizes() -> list[Figure]:
    """Compare audit and apply with one lspci and with shell loops, on hosts of several sizes."""
    figures: list[Figure] = []
    for functions, rounds in _ROUNDS.items():
        switches = functions // FUNCTIONS_PER_SWITCH
        with host_of_switches(switches, vfs_per_nic=VFS_PER_NIC) as host:
            figures += _times(host, f"{functions:,} functions", rounds)
            if functions == max(_ROUNDS):
                figures.append(_memory(host, f"{functions:,} functions"))
    return figures


def _times(host: TreeHost, size: str, rounds: int) -> Iterator[Figure]:
    for what, command, loop in (("apply", apply, apply_loop), ("audit", audit, audit_loop)):
        untune(host)
        for than, other in (("lspci -vvv", lspci), ("shell loop", loop)):
            times = compare(command(host), other(host), rounds=rounds)
            yield Figure(f"{what} of {size} : {than}", str(times), times.ratio, None)


def _memory(host: TreeHost, size: str) -> Figure:
    untune(host)
    ours, bare = peak_memory(audit(host)), peak_memory(NOTHING)
    return Figure(
        f"peak memory of an audit of {size} : python -c pass",
        f"{ours / _MIB:.0f} MiB : {bare / _MIB:.0f} MiB",
        ours / bare,
        None,
    )
