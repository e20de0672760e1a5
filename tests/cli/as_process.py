"""The command line as a process of its own."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

_COMMAND = (sys.executable, "-m", "pcietune")
_CHECKOUT = Path(__file__).parents[2]
_LONGEST_S = 60.0


def start(
    *arguments: str | Path,
    stdout: int = subprocess.PIPE,
    stderr: int = subprocess.PIPE,
    environment: Mapping[str, str] | None = None,
) -> subprocess.Popen[str]:
    """Start ``pcietune``; ``environment`` is added to this process's."""
    return subprocess.Popen(
        [*_COMMAND, *map(str, arguments)],
        stdout=stdout,
        stderr=stderr,
        text=True,
        cwd=_CHECKOUT,
        env={**os.environ, **(environment or {})},
    )


def finish(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Return exit code, stdout and stderr of a process once it has ended."""
    stdout, stderr = process.communicate(timeout=_LONGEST_S)
    return process.returncode, stdout or "", stderr


def python(program: str) -> str:
    """Return what a Python program prints."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        check=True,
        capture_output=True,
        text=True,
        cwd=_CHECKOUT,
        timeout=_LONGEST_S,
    )
    return done.stdout
