"""What nvbandwidth prints between GPUs, as text and as JSON (NVIDIA/nvbandwidth)."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from pcietune.address import PciAddress
from pcietune.errors import BadInputError
from pcietune.tune.paths.results.result import Measured, Program, gpu_at, number

_RUNNING = re.compile(r"Running (\w{1,80})\.")
_DEVICE = re.compile(
    r"(?:Device )?([0-9]{1,4}): .*\((?:PCI:)?([0-9a-fA-F]{4,8}):([0-9a-fA-F]{2}):([0-9a-fA-F]{2})"
)
_MATRIX = re.compile(r"memcpy .*GPU\(row\).*GPU\(column\).*bandwidth \(GB/s\)")
_WRONG = "Invalid value when checking the pattern"
_NO_VALUE = "N/A"
_BETWEEN_GPUS = "device_to_device"


class _Case(msgspec.Struct, frozen=True):
    """One test; of a waived one the matrix is missing."""

    name: str
    bandwidth_description: str = ""
    bandwidth_matrix: list[list[str | float]] = []


class _Run(msgspec.Struct, frozen=True):
    """What one call did."""

    testcases: list[_Case] = []
    devices: list[str] = msgspec.field(name="GPU Device list", default_factory=list)
    error: str | None = None


class _Document(msgspec.Struct, frozen=True):
    """All that it prints."""

    nvbandwidth: _Run


@dataclass(frozen=True, slots=True)
class _Matrix:
    """A test's results, row by row.

    Attributes:
        test: Its name.
        gpus: By index.
        columns: Indexes of the GPUs in the columns.
    """

    test: str
    gpus: Mapping[int, PciAddress]
    columns: Sequence[int]

    def row(self, index: int, values: Sequence[str], where: str) -> Iterator[Measured]:
        """Yield the results of one row; what a GPU copies within itself is none.

        Raises:
            BadInputError: A value is no figure, or there are more or fewer than columns.
        """
        if len(values) != len(self.columns):
            raise BadInputError(
                f"{where}: {len(values)} values for {len(self.columns)} GPUs",
                hint="give nvbandwidth's output in whole lines",
            )
        for column, value in zip(self.columns, values, strict=True):
            if column == index or value == _NO_VALUE:
                continue
            yield Measured(
                Program.NVBANDWIDTH,
                f"{self.test} {index},{column}",
                where,
                number(value, where),
                both_ways=self.test.endswith("_total") or self._sums_both_ways,
                ends=self._ends(index, column),
                gpu_memory=True,
            )

    @property
    def _sums_both_ways(self) -> bool:
        """Whether it is a kernel's copy both ways; of the copy engine's one way is measured."""
        return "bidirectional" in self.test and self.test.endswith("_sm")

    def _ends(self, one: int, other: int) -> frozenset[PciAddress] | None:
        ends = [self.gpus[index] for index in (one, other) if index in self.gpus]
        return frozenset(ends) if len(ends) == len({one, other}) else None


def read_nvbandwidth(lines: Sequence[str], name: str) -> Iterator[Measured]:
    """Yield all results between two GPUs in a text.

    Raises:
        BadInputError: A row makes no sense.
    """
    gpus: dict[int, PciAddress] = {}
    test, matrix, heads_next = "nvbandwidth", None, False
    found: list[Measured] = []
    for index, line in enumerate(lines, 1):
        where, fields = f"{name}:{index}", line.split()
        _note_gpu(line, gpus)
        if (running := _RUNNING.match(line)) is not None:
            test, matrix = running[1], None
        elif _WRONG in line:
            found.append(_wrong(test, where))
        elif _MATRIX.match(line) is not None:
            heads_next = _BETWEEN_GPUS in test
            matrix = None
        elif heads_next:
            heads_next = False
            if not all(field.isdecimal() for field in fields) or not fields:
                raise BadInputError(
                    f"{where}: a matrix without numbers of GPUs above it",
                    hint="give nvbandwidth's output in whole lines",
                )
            matrix = _Matrix(test, gpus, [int(field) for field in fields])
        elif matrix is not None and fields and fields[0].isdecimal():
            found += matrix.row(int(fields[0]), fields[1:], where)
        else:
            matrix = None
    yield from found


def read_nvbandwidth_json(text: str, name: str) -> Iterator[Measured]:
    """Yield all results between two GPUs of ``nvbandwidth --json``.

    Raises:
        BadInputError: It is no such document, or it tells of an error.
    """
    try:
        run = msgspec.json.decode(text.encode(), type=_Document).nvbandwidth
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise BadInputError(
            f"{name}: no JSON of nvbandwidth: {error}", hint="give what nvbandwidth --json printed"
        ) from error
    if run.error is not None and _WRONG in run.error:
        yield _wrong("nvbandwidth", name)
    elif run.error is not None:
        raise BadInputError(
            f"{name}: nvbandwidth failed: {run.error[:80]!r}", hint="run it without --json"
        )
    gpus: dict[int, PciAddress] = {}
    for device in run.devices:
        _note_gpu(device, gpus)
    for case in run.testcases:
        if _BETWEEN_GPUS not in case.name or not _MATRIX.match(case.bandwidth_description):
            continue
        matrix = _Matrix(case.name, gpus, range(len(case.bandwidth_matrix)))
        for index, row in enumerate(case.bandwidth_matrix):
            yield from matrix.row(index, [str(value) for value in row], f"{name}: {case.name}")


def _note_gpu(line: str, gpus: dict[int, PciAddress]) -> None:
    device = _DEVICE.match(line)
    if device is not None:
        gpus[int(device[1])] = gpu_at(device[2], device[3], device[4])


def _wrong(test: str, where: str) -> Measured:
    """Return that a check failed, after which nothing is measured.

    That one did not fail is no proof: the text does not tell whether --skipVerification was given.
    """
    return Measured(Program.NVBANDWIDTH, test, where, 0.0, wrong=1, gpu_memory=True)
