"""What gdsio prints of drives and GPUs (NVIDIA GPUDirect Storage)."""

import re
from collections.abc import Iterator, Sequence

from pcietune.errors import BadInputError
from pcietune.tune.paths.results.result import Measured, Program, number

_LINE = re.compile(
    r"IoType: (\w{1,12}) XferType: (\w{1,20}) .*Throughput: (\S{1,20}) (GiB|MiB|KiB)/sec"
)
_SCALES = {"GiB": 2.0**30, "MiB": 2.0**20, "KiB": 2.0**10}
_DIRECT = "GPUD"


def read_gdsio(lines: Sequence[str], name: str) -> Iterator[Measured]:
    """Yield each result in a text.

    Raises:
        BadInputError: A result went by the host's memory, or is no figure.
    """
    for index, line in enumerate(lines, 1):
        found = _LINE.search(line)
        if found is None:
            continue
        where = f"{name}:{index}"
        if not found[2].startswith(_DIRECT):
            raise BadInputError(
                f"{where}: {found[2]} goes by the host's memory, and not straight to the GPU",
                hint="measure with gdsio -x 0, and leave the other lines out",
            )
        rate = number(found[3], where) * _SCALES[found[4]] / 1e9
        yield Measured(Program.GDSIO, found[1], where, rate, gpu_memory=True)
