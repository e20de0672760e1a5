"""One result of a program that measures bandwidth."""

import re
from dataclasses import dataclass
from enum import StrEnum

from pcietune.address import PciAddress
from pcietune.errors import BadInputError, quoted

_NUMBER = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,12})?(?:[eE][+-]?[0-9]{1,2})?")


class Program(StrEnum):
    """What measured it."""

    PERFTEST = "perftest"
    NVBANDWIDTH = "nvbandwidth"
    NCCL_TESTS = "nccl-tests"
    GDSIO = "gdsio"


@dataclass(frozen=True, slots=True)
class Measured:
    """One result.

    Attributes:
        program: What measured it.
        test: What it says that it measured.
        where: File and line.
        gigabytes: In 10^9 bytes a second, of both directions together if ``both_ways``.
        both_ways: Whether it counts two directions at once.
        wrong: How many values, or checks, were wrong; None if nothing was checked.
        ends: The GPUs that it is between; None if the text does not tell them.
        gpu_memory: Whether it says that GPU memory was used; None if it does not tell.
    """

    program: Program
    test: str
    where: str
    gigabytes: float
    both_ways: bool = False
    wrong: int | None = None
    ends: frozenset[PciAddress] | None = None
    gpu_memory: bool | None = None


def number(text: str, where: str) -> float:
    """Return a figure.

    Raises:
        BadInputError: It is none.
    """
    if _NUMBER.fullmatch(text) is None:
        raise BadInputError(
            f"{where}: {quoted(text)} is no figure",
            hint="give the program's output as it printed it, in whole lines",
        )
    return float(text)


def gpu_at(domain: str, bus: str, device: str) -> PciAddress:
    """Return a GPU as programs tell it: in hexadecimal, without a function."""
    return PciAddress(int(domain, 16), int(bus, 16), int(device, 16), 0)
