"""What ib_write_bw, ib_read_bw and ib_send_bw print (linux-rdma/perftest)."""

import re
from collections.abc import Iterator, Sequence

from pcietune.errors import BadInputError
from pcietune.tune.paths.results.result import Measured, Program, number

_COLUMN = re.compile(r"BW \w+\[[^\]]{1,20}\]|\S+")
_AVERAGE = re.compile(r"BW average\[([^\]]{1,20})\]")
_BANNER = re.compile(r"\s*(\S.{0,60}) BW Test\s*")
_UNITS = {
    "Gb/sec": 1e9 / 8,
    "MB/sec": 2.0**20,  # so its older versions call MiB: its own definition of MB is 2^20
    "MiB/sec": 2.0**20,
}
_OF_GPUS = re.compile(r"CUDA|ROCm|GPU buffer", re.IGNORECASE)


def read_perftest(lines: Sequence[str], name: str) -> Iterator[Measured]:
    """Yield the best result of each run in a text.

    Raises:
        BadInputError: A row or a unit makes no sense.
    """
    gpu_memory = True if any(map(_OF_GPUS.search, lines)) else None
    test, best, column = "perftest", None, None
    for index, line in enumerate(lines, 1):
        where = f"{name}:{index}"
        if (banner := _BANNER.fullmatch(line)) is not None:
            test = banner[1]
        if (unit := _AVERAGE.search(line)) is not None:
            if best is not None:
                yield best
            best, column = None, (_index_of_average(line), _scale(unit[1], where))
            continue
        fields = line.split()
        if column is None or not _is_row(fields):
            continue
        position, scale = column
        if len(fields) <= position:
            raise BadInputError(
                f"{where}: a row of {len(fields)} columns, and the average is the {position + 1}th",
                hint="give whole lines",
            )
        found = number(fields[position], where) * scale / 1e9
        if best is None or found > best.gigabytes:
            both = "bidirectional" in test.lower()
            best = Measured(
                Program.PERFTEST, test, where, found, both_ways=both, gpu_memory=gpu_memory
            )
    if best is not None:
        yield best


def _is_row(fields: Sequence[str]) -> bool:
    """Return whether a line is a row: sizes and iterations come first."""
    return len(fields) > 1 and fields[0].isdecimal() and fields[1].isdecimal()


def _index_of_average(header: str) -> int:
    return next(
        index
        for index, column in enumerate(_COLUMN.findall(header))
        if _AVERAGE.fullmatch(column) is not None
    )


def _scale(unit: str, where: str) -> float:
    if unit not in _UNITS:
        raise BadInputError(f"{where}: bandwidth in {unit}", hint=f"known are {', '.join(_UNITS)}")
    return _UNITS[unit]
