"""The most memory that a command had at once."""

import sys
from subprocess import run

from benchmarks.in_turns import Command

NOTHING = Command([sys.executable, "-c", "pass"])
"""An interpreter that does nothing."""

_KIB = 1024  # bytes, the unit of ru_maxrss (getrusage(2))

# A process counts what its parent had when it was begun, so it is begun by a small one.
_SMALL_PARENT = """
import os, sys
null = os.open(os.devnull, os.O_RDWR)
actions = [(os.POSIX_SPAWN_DUP2, null, fd) for fd in (0, 1, 2)]
child = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ, file_actions=actions)
_, status, usage = os.wait4(child, 0)
print(os.waitstatus_to_exitcode(status), usage.ru_maxrss)
"""


def peak_memory(command: Command) -> int:
    """Run a command once and return its peak resident set, in bytes.

    Raises:
        RuntimeError: It ended otherwise than it must.
    """
    command.prepare()
    parent = [sys.executable, "-I", "-S", "-c", _SMALL_PARENT, *command.argv]
    said = run(parent, check=True, capture_output=True, text=True).stdout
    exit_code, peak = map(int, said.split())
    if exit_code != command.exit_code:
        raise RuntimeError(f"{command.argv} exited {exit_code}")
    return peak * _KIB
