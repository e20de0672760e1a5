"""Pass a request on to the agent of a VM, and print its answer: a line of JSON each.

usage: ask_vm.py PIPE; the request is read from standard input. QEMU has PIPE.in and PIPE.out open.
"""

import sys
from pathlib import Path

_pipe = sys.argv[1]
with Path(f"{_pipe}.in").open("w", encoding="ascii") as requests:
    requests.write(sys.stdin.read())
with Path(f"{_pipe}.out").open(encoding="ascii") as answers:
    sys.stdout.write(answers.readline())
