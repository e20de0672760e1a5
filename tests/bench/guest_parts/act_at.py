"""Run pcietune, and a shell command before or after the nth call of one of os's functions.

usage: act_at.py before|after FUNCTION N COMMAND ARGUMENT...

The command finds the process's id in $PCIETUNE. Its own output goes to stderr.
"""

import os
import subprocess
import sys

_when, _function, _number, _command = sys.argv[1:5]
_real = getattr(os, _function)
_calls = 0


def _act() -> None:
    subprocess.run(
        ["sh", "-c", _command],
        check=True,
        stdout=sys.stderr,
        env={**os.environ, "PCIETUNE": str(os.getpid())},
    )


def _watched(*arguments: object) -> object:
    global _calls  # noqa: PLW0603 -- a program of one function
    _calls += 1
    meant = _calls == int(_number)
    if meant and _when == "before":
        _act()
    result = _real(*arguments)
    if meant and _when == "after":
        _act()
    return result


setattr(os, _function, _watched)

from pcietune.cli.app import run  # noqa: E402 -- it is to find the watched function

sys.exit(run(sys.argv[5:]))
