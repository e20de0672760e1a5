"""Fuzzes one target in this process: ``python -m fuzz.coverage_guided NAME CORPUS OPTION ...``.

What is to be guided by coverage must be instrumented while it is imported; libFuzzer then takes the
process over and ends it. The options are libFuzzer's.
"""

import sys

import atheris

with atheris.instrument_imports(include=["pcietune"]):
    from fuzz.targets import TARGETS


def main() -> None:
    """Fuzz, and do not return."""
    program, name, *options = sys.argv
    target = TARGETS[name]
    atheris.Setup([program, f"-max_len={target.longest}", *options], target.look)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
