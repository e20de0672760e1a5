"""Boots a machine by hand: ``python3 -m bench MACHINE [-- COMMAND...]``, in the folder tests.

Without a command it reads commands from standard input, a line each, and runs them in the guest.
"""

import argparse
import contextlib
import sys
import time

from bench.boot import booted
from bench.errors import GuestDiedError, GuestError
from bench.guest import Guest
from bench.machine import load_machine


def main() -> int:
    """Boot, run, and return the exit status of the last command."""
    parser = argparse.ArgumentParser(prog="python3 -m bench", description=__doc__)
    parser.add_argument("machine", help="name of a file in machines/, without .yaml")
    parser.add_argument("command", nargs="*", help="to run in the guest; none: read commands")
    arguments = parser.parse_args()
    started = time.monotonic()
    with booted(load_machine(arguments.machine)) as guest:
        sys.stderr.write(f"bench: booted in {time.monotonic() - started:.1f} s\n")
        if arguments.command:
            return _run(guest, *arguments.command)
        return _shell(guest)


def _shell(guest: Guest) -> int:
    status = 0
    with contextlib.suppress(EOFError, KeyboardInterrupt):
        while True:
            line = input("guest# ")
            try:
                status = _run(guest, "sh", "-c", line)
            except GuestDiedError:
                raise
            except GuestError as error:
                sys.stderr.write(f"{error}\n")
    return status


def _run(guest: Guest, *argv: str) -> int:
    result = guest.run(*argv, timeout=600)
    sys.stdout.write(result.stdout)
    sys.stderr.write(result.stderr)
    return result.returncode


if __name__ == "__main__":
    sys.exit(main())
