"""Run pcietune and let it get a signal at the nth call of one of os's functions.

usage: signal_at.py SIGNAL before|after FUNCTION N ARGUMENT...

The functions are those that reach the disk or the hardware: pwrite, fsync, write, replace. A
signal that kills ends the process right there, between two system calls.
"""

import os
import signal
import sys

_signal, _when, _function, _number = sys.argv[1:5]
_real = getattr(os, _function)
_calls = 0


def _watched(*arguments: object) -> object:
    global _calls  # noqa: PLW0603 -- a program of one function
    _calls += 1
    meant = _calls == int(_number)
    if meant and _when == "before":
        os.kill(os.getpid(), signal.Signals[_signal])
    result = _real(*arguments)
    if meant and _when == "after":
        os.kill(os.getpid(), signal.Signals[_signal])
    return result


setattr(os, _function, _watched)

from pcietune.cli.app import run  # noqa: E402 -- it is to find the watched function

sys.exit(run(sys.argv[5:]))
