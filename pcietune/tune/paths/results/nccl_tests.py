"""What all_reduce_perf and its like print (NVIDIA/nccl-tests, ROCm/rccl-tests)."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pcietune.address import PciAddress
from pcietune.errors import BadInputError
from pcietune.tune.paths.results.result import Measured, Program, gpu_at, number

_TAG = re.compile(r"^\[[0-9,]{1,20}\]<std(?:out|err)>:\s?")  # Open MPI's --tag-output
_HEADER = re.compile(r"#\s+size\s.*\bbusbw\b")
_RANK = re.compile(
    r"#\s+Rank\s+[0-9]+\s.*\[(?:0x)?(?:([0-9a-f]{4}):)?([0-9a-f]{2})(?::([0-9a-f]{2}))?\]"
)
_FOOTER = re.compile(r"#\s+Out of bounds values\s*:\s*([0-9]{1,12})\s")
_STARTING = re.compile(r"#\s+Collective test starting:\s*(\S{1,40})")
_PAIR = 2  # ranks
_READ = ("busbw", "#wrong")  # columns
_NOT_CHECKED = "N/A"


@dataclass(slots=True)
class _Run:
    """One table, while it is read."""

    ends: frozenset[PciAddress] | None
    columns: list[str]
    best: float | None = None
    where: str = ""
    wrong: int | None = None

    def add(self, fields: Sequence[str], where: str) -> None:
        """Take a row.

        Raises:
            BadInputError: It has too few columns, or no figures in them.
        """
        known = [index for index, column in enumerate(self.columns) if column in _READ]
        if len(fields) <= known[-1]:
            raise BadInputError(
                f"{where}: a row of {len(fields)} columns, where {known[-1] + 1} have names",
                hint="give whole lines",
            )
        for index in known:
            if self.columns[index] == "busbw":
                found = number(fields[index], where)
                if self.best is None or found > self.best:
                    self.best, self.where = found, where
            elif fields[index] != _NOT_CHECKED:
                self.wrong = (self.wrong or 0) + int(number(fields[index], where))

    def result(self, test: str) -> Iterator[Measured]:
        """Yield the best row, with all values that were wrong in any."""
        if self.best is not None:
            yield Measured(
                Program.NCCL_TESTS,
                test,
                self.where,
                self.best,
                wrong=self.wrong,
                ends=self.ends,
                gpu_memory=True,
            )


def read_nccl_tests(lines: Sequence[str], name: str) -> Iterator[Measured]:
    """Yield the best result of each table in a text, by bus bandwidth.

    Raises:
        BadInputError: A row makes no sense.
    """
    test, run = "collective", None
    ranks: list[PciAddress | None] = []
    for index, tagged in enumerate(lines, 1):
        line, where = _TAG.sub("", tagged).strip(), f"{name}:{index}"
        fields = line.split()
        if (started := _STARTING.match(line)) is not None:
            test = started[1]
        if (rank := _RANK.match(line)) is not None:
            ranks.append(_address(*rank.groups()))
        elif _HEADER.match(line) is not None:
            if run is not None:
                yield from run.result(test)
            run = _Run(_ends(ranks), fields[1:])
            ranks = []
        elif run is not None and (footer := _FOOTER.match(f"{line} ")) is not None:
            run.wrong = _more(run.wrong, int(footer[1]))
        elif run is not None and len(fields) > 1 and fields[0].isdecimal():
            run.add(fields, where)
    if run is not None:
        yield from run.result(test)


def _more(wrong: int | None, out_of_bounds: int) -> int | None:
    """Return how much was wrong: the footer counts 0, too, where nothing was checked."""
    return max(wrong or 0, out_of_bounds) if out_of_bounds else wrong


def _address(domain: str | None, bus: str, device: str | None) -> PciAddress | None:
    """Return a rank's GPU; None as older versions tell the bus alone."""
    if domain is None or device is None:
        return None
    return gpu_at(domain, bus, device)


def _ends(ranks: Sequence[PciAddress | None]) -> frozenset[PciAddress] | None:
    """Return the two GPUs of a table, if it is of two and tells both."""
    known = {rank for rank in ranks if rank is not None}
    return frozenset(known) if len(known) == len(ranks) == _PAIR else None
