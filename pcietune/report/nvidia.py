"""What NVIDIA's driver told of GPUs, as text."""

from collections.abc import Iterable

from pcietune.model.function import PciFunction
from pcietune.model.nvidia_gpu import NvidiaGpus

_MIG = {True: "on", False: "off", None: "not known"}


def nvidia_lines(told: NvidiaGpus, functions: Iterable[PciFunction]) -> list[str]:
    """Return a line for each GPU, and one for the host."""
    lines = []
    for address, gpu in told.by_address(functions).items():
        module = "no module id of its own" if gpu.module is None else f"module {gpu.module}"
        lines.append(f"{address}: {module}, MIG {_MIG[gpu.mig]}")
    return [*lines, f"confidential computing: {_MIG[told.confidential]}"]
