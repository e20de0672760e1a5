"""Two commands timed in turns, so that what else the machine does meets both alike."""

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from subprocess import run

PCIETUNE = (sys.executable, "-m", "pcietune")


def nothing() -> None:
    """Prepare nothing."""


@dataclass(frozen=True, slots=True)
class Command:
    """A process whose whole life is timed.

    Attributes:
        argv: Program and arguments.
        exit_code: What it must end with: a command that fails is quick, and proves nothing.
        prepare: What is done before each run, untimed.
        check: What is done after each run, untimed; it raises if the job was not done.
    """

    argv: Sequence[str | Path]
    exit_code: int = 0
    prepare: Callable[[], None] = nothing
    check: Callable[[], None] = nothing

    def seconds(self) -> float:
        """Run it once and return how long that took.

        Raises:
            RuntimeError: It ended otherwise than it must.
        """
        self.prepare()
        started = time.perf_counter()
        done = run(self.argv, check=False, capture_output=True, text=True)
        taken = time.perf_counter() - started
        if done.returncode != self.exit_code:
            raise RuntimeError(f"{self.argv} exited {done.returncode}: {done.stdout}{done.stderr}")
        self.check()
        return taken


@dataclass(frozen=True, slots=True)
class Comparison:
    """How two commands compare.

    Attributes:
        first: Median seconds of the one.
        second: Median seconds of the other.
        ratio: Median of first over second, of runs next to each other.
    """

    first: float
    second: float
    ratio: float

    def __str__(self) -> str:
        return f"{self.first:.3g} s : {self.second:.3g} s"


def compare(first: Command, second: Command, *, rounds: int) -> Comparison:
    """Time the commands in turns, A B A B.

    One run of each that does not count goes before, unless there is one round only: what takes
    minutes is not run twice.

    Raises:
        RuntimeError: One of them ended otherwise than it must.
    """
    if rounds > 1:
        for command in (first, second):
            command.seconds()
    pairs = [(first.seconds(), second.seconds()) for _ in range(rounds)]
    return Comparison(
        median(one for one, _ in pairs),
        median(other for _, other in pairs),
        median(one / other for one, other in pairs),
    )
