"""Fuzzes for a while: ``python -m fuzz [--seconds N] [NAME ...]``, in the folder tests."""

import argparse
import sys

from fuzz.campaign import FOUND, fuzz
from fuzz.targets import TARGETS


def main() -> int:
    """Fuzz the targets that are named, or all, in turns; exit 1 if one of them failed."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("name", nargs="*", help=f"{', '.join(TARGETS)}; none: all of them")
    parser.add_argument("--seconds", type=int, default=60, help="for each; 60 if not given")
    arguments = parser.parse_args()
    names = arguments.name or list(TARGETS)
    if unknown := set(names) - TARGETS.keys():
        parser.error(f"there is no target {', '.join(sorted(unknown))}")
    failed = []
    for name in names:
        ended = fuzz(name, arguments.seconds)
        if ended.failed:
            failed.append(name)
        lines = ended.said.splitlines()
        told = lines[-60:] if ended.failed else [line for line in lines if "stat::" in line][:2]
        sys.stdout.write("\n".join([f"{name}: {'FAILED' if ended.failed else 'held'}", *told, ""]))
    if failed:
        sys.stdout.write(f"what {', '.join(failed)} failed on is below {FOUND}\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
