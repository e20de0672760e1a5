"""What it costs to start pcietune, beside an interpreter that does nothing."""

from pathlib import Path

from benchmarks.figure import Figure
from benchmarks.in_turns import PCIETUNE, Command, compare
from benchmarks.peak_memory import NOTHING
from pcietune.host.source import open_host

_ROUNDS = 15
_ARCHIVE = Path(__file__).parents[1] / "pcietune" / "recorded_hosts" / "a800-sxm4-8gpu.tar.gz"


def start() -> list[Figure]:
    """Compare short commands with ``python -c pass``."""
    figures = []
    with open_host([_ARCHIVE]) as unpacked:
        commands = {
            "--version": Command([*PCIETUNE, "--version"]),
            "--help": Command([*PCIETUNE, "--help"]),
            "audit of a recorded A800": _audit(unpacked.root),
            "audit of the A800's archive": _audit(_ARCHIVE),
        }
        for what, command in commands.items():
            times = compare(command, NOTHING, rounds=_ROUNDS)
            figures.append(Figure(f"{what} : python -c pass", str(times), times.ratio, None))
    return figures


def _audit(recorded: Path) -> Command:
    return Command([*PCIETUNE, "audit", "--mode", "vm", "--from", recorded], exit_code=3)
