"""Run pcietune again and again, each time in a fork that has imported everything before.

usage: forks.py

Each line of stdin is a JSON list: the file for stdout and stderr, whether to wait, and what to run.
The fork's process id is printed; if it is to wait, it does so for SIGUSR1. Then its exit status is
printed, as os.waitstatus_to_exitcode has it.
"""

import ctypes
import json
import os
import signal
import sys
import traceback

from pcietune.cli.app import run

_SET_PTRACER, _ANY = 0x59616D61, ctypes.c_ulong(-1)  # Yama lets no stranger trace otherwise


def _be_pcietune(out: str, arguments: list[str], *, wait: bool) -> None:
    descriptor = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    ctypes.CDLL(None).prctl(_SET_PTRACER, _ANY, 0, 0, 0)
    if wait:
        signal.sigwait({signal.SIGUSR1})
    try:
        code = run(arguments)
    except BaseException:  # noqa: BLE001 -- whatever it is, it is what the test must see
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
for line in sys.stdin:
    out_file, waits, told = json.loads(line)
    child = os.fork()
    if child == 0:
        _be_pcietune(out_file, told, wait=waits)
    sys.stdout.write(f"{child}\n")
    sys.stdout.flush()
    _, status = os.waitpid(child, 0)
    sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
    sys.stdout.flush()
