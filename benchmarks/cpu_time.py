"""CPU time of processes: what an event costs a host that has others to do."""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.in_turns import nothing


@dataclass(frozen=True, slots=True)
class Job:
    """A process whose CPU time is taken, with that of its children.

    Attributes:
        argv: Program, found on PATH, and arguments.
        environ: Its whole environment beside PATH.
        prepare: What is done before each run, and not counted.
    """

    argv: Sequence[str | Path]
    environ: Mapping[str, str]
    prepare: Callable[[], None] = nothing

    def start(self) -> int:
        """Prepare and start it; return its process id."""
        self.prepare()
        silent = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        actions = [(os.POSIX_SPAWN_DUP2, silent, 1), (os.POSIX_SPAWN_DUP2, silent, 2)]
        environ = {"PATH": os.environ["PATH"], **self.environ}
        process = os.posix_spawnp(
            str(self.argv[0]), list(map(str, self.argv)), environ, file_actions=actions
        )
        os.close(silent)
        return process

    def seconds(self) -> float:
        """Run it once and return its CPU time."""
        return ended(self.start())


def ended(process: int) -> float:
    """Wait for a process and return its CPU time in seconds.

    Raises:
        RuntimeError: It did not end with 0: what fails is quick, and proves nothing.
    """
    _, status, usage = os.wait4(process, 0)
    if status:
        raise RuntimeError(f"a measured process ended with {os.waitstatus_to_exitcode(status)}")
    return usage.ru_utime + usage.ru_stime


@dataclass(frozen=True, slots=True)
class CpuTimes:
    """Median CPU seconds of two jobs, run in turns, and the median of their ratios."""

    first: float
    second: float
    ratio: float

    def __str__(self) -> str:
        return f"{1000 * self.first:.1f} ms : {1000 * self.second:.1f} ms of CPU"


def compare_cpu(first: Job, second: Job, *, rounds: int) -> CpuTimes:
    """Run the jobs in turns, A B A B, after one run of each that does not count."""
    for job in (first, second):
        job.seconds()
    pairs = [(first.seconds(), second.seconds()) for _ in range(rounds)]
    return CpuTimes(
        median(one for one, _ in pairs),
        median(other for _, other in pairs),
        median(one / other for one, other in pairs),
    )


BARE = Job([sys.executable, "-I", "-S", "-c", "pass"], {})
"""An interpreter as bare as the hook's, that does nothing."""
