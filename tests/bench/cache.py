"""What the bench downloads and builds once, kept outside the tree."""

import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path


class CacheError(Exception):
    """A part of the bench could not be made; the message says what was tried."""


def cache_directory() -> Path:
    """Return where the bench keeps what it made: PCIETUNE_BENCH_CACHE, or a place in ~/.cache."""
    if directory := os.environ.get("PCIETUNE_BENCH_CACHE"):
        return Path(directory).absolute()
    caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(caches) / "pcietune-bench"


def cached(kind: str, key: Sequence[str], build: Callable[[Path], None]) -> Path:
    """Return the directory that ``build`` filled, now or in an earlier run.

    Args:
        kind: What it is, in a word.
        key: All that its content depends on.
        build: Fills the directory that it is given, which takes its final name only when done.

    Raises:
        CacheError: As ``build`` raises it.
    """
    directory = cache_directory()
    digest = hashlib.sha256("\n".join(key).encode()).hexdigest()[:16]
    final = directory / f"{kind}-{digest}"
    with _locked(directory):
        if not final.exists():
            sys.stderr.write(f"bench: making {kind} ({', '.join(key)})\n")
            unfinished = Path(tempfile.mkdtemp(prefix=f"unfinished-{kind}-", dir=directory))
            try:
                build(unfinished)
                unfinished.rename(final)
            except BaseException:
                shutil.rmtree(unfinished, ignore_errors=True)
                raise
    return final


def command(*argv: str | Path) -> str:
    """Run a program that helps to make a part, and return what it printed.

    Raises:
        CacheError: It is not installed, or it failed.
    """
    try:
        return subprocess.run(argv, check=True, text=True, capture_output=True).stdout
    except FileNotFoundError as error:
        raise CacheError(f"{argv[0]} is not installed") from error
    except subprocess.CalledProcessError as error:
        raise CacheError(
            f"{' '.join(map(str, argv))} failed:\n{error.stdout[-2000:]}{error.stderr[-2000:]}"
        ) from error


@contextlib.contextmanager
def _locked(directory: Path) -> Iterator[None]:
    """Keep other test runs from making the same thing at the same time."""
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
