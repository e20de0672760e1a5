"""A bounded run of one target in a process of its own."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from subprocess import PIPE, STDOUT, Popen
from tempfile import TemporaryDirectory

from fuzz.targets import TARGETS

TESTS = Path(__file__).parents[1]
FOUND = Path(__file__).with_name("found")
"""A directory for each target, with the inputs on which it failed."""

_CORPUS = TESTS.parent / "build" / "fuzz"  # what earlier runs learnt
_IN_MEMORY = Path("/dev/shm")  # noqa: S108 -- a directory with a random name is made there
_SLOWEST = 10  # seconds for one input, on a busy machine: what takes longer hangs
_MIB = 2048  # of memory for the whole process


@dataclass(frozen=True)
class Ended:
    """How a run ended.

    Attributes:
        failed: Whether an input was found that the target cannot bear.
        said: What the fuzzer printed, the failure at its end.
    """

    failed: bool
    said: str


def fuzz(name: str, seconds: int) -> Ended:
    """Fuzz a target for that long, from its seeds and from what earlier runs learnt."""
    found = FOUND / name
    corpus = _CORPUS / name
    for directory in (found, corpus):
        directory.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=_IN_MEMORY if _IN_MEMORY.is_dir() else None) as temporary:
        seeds = Path(temporary) / "seeds"
        seeds.mkdir()
        for number, seed in enumerate(TARGETS[name].seeds()):
            (seeds / f"{number:03}").write_bytes(seed)
        options = (
            f"-max_total_time={seconds}",
            f"-timeout={_SLOWEST}",
            f"-rss_limit_mb={_MIB}",
            f"-artifact_prefix={found}/",
            "-print_final_stats=1",
        )
        program = (sys.executable, "-m", "fuzz.coverage_guided", name)
        with Popen(
            (*program, *options, corpus, seeds),
            cwd=TESTS,
            env=os.environ | {"TMPDIR": temporary},
            stdout=PIPE,
            stderr=STDOUT,
            text=True,
            errors="replace",
        ) as process:
            said, _ = process.communicate()
    if not any(found.iterdir()):
        found.rmdir()
    return Ended(process.returncode != 0, said)
