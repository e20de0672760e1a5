"""Measures what was promised of pcietune's speed, and exits 1 if a bound does not hold."""

import argparse
import sys

from benchmarks.cold_boot import cold_boot
from benchmarks.config_cycles import config_cycles
from benchmarks.figure import table
from benchmarks.hook import hook
from benchmarks.paths import paths
from benchmarks.scaling import scaling
from benchmarks.shell_loop import shell_loop
from benchmarks.sizes import sizes
from benchmarks.start import start

_MEASUREMENTS = {
    "config-cycles": config_cycles,
    "shell-loop": shell_loop,
    "sizes": sizes,
    "scaling": scaling,
    "paths": paths,
    "start": start,
    "hook": hook,
    "cold-boot": cold_boot,
}


def main() -> int:
    """Run the measurements that are named, or all, and print their table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("name", nargs="*", help=f"{', '.join(_MEASUREMENTS)}; none: all of them")
    names = parser.parse_args().name or list(_MEASUREMENTS)
    if unknown := set(names) - _MEASUREMENTS.keys():
        parser.error(f"there is no measurement {', '.join(sorted(unknown))}")
    figures = []
    for name in names:
        sys.stderr.write(f"measuring {name} ...\n")
        figures += _MEASUREMENTS[name]()
    sys.stdout.write(f"{table(figures)}\n")
    return 0 if all(figure.holds for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
