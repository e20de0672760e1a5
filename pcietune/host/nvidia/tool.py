"""Runs nvidia-smi, where NVIDIA's driver has GPUs already."""

import shutil
from collections.abc import Iterable

from pcietune.errors import BadInputError, ConfigSpaceError, quoted
from pcietune.host.nvidia.answer import Told, parse_confidential, parse_gpus
from pcietune.host.vendor_tool import LONGEST_S, run_vendor_tool
from pcietune.model.function import PciFunction
from pcietune.model.nvidia_gpu import is_nvidia_gpu

_DRIVER = "nvidia"


def check_driver_has_gpus(functions: Iterable[PciFunction]) -> None:
    """Return if NVIDIA's driver has a GPU.

    Else nvidia-smi would load the driver, which takes every GPU that no other has.

    Raises:
        BadInputError: It has none.
    """
    gpus = [function for function in functions if is_nvidia_gpu(function)]
    if not any(gpu.driver == _DRIVER for gpu in gpus):
        raise BadInputError(
            "NVIDIA's driver has none of this host's GPUs, and only it knows module ids and MIG"
            if gpus
            else "this host has no GPU of NVIDIA's",
            hint="do it before VFIO has them, or give module ids by hand: pcietune guest plan"
            " --modules FILE",
        )


def find_nvidia_smi(path: str | None = None) -> "NvidiaSmi":
    """Return the program that is on ``path``; None means PATH.

    Raises:
        BadInputError: It is not there.
    """
    found = shutil.which("nvidia-smi", path=path)
    if found is None:
        raise BadInputError(
            "nvidia-smi is not on PATH: it comes with NVIDIA's driver",
            hint="run pcietune with the PATH that has it",
        )
    return NvidiaSmi(found)


class NvidiaSmi:
    """The program.

    Attributes:
        path: Where it is.
    """

    def __init__(self, path: str, longest_s: float = LONGEST_S) -> None:
        """Run nothing yet.

        Args:
            path: Where it is.
            longest_s: How long one question may take, in seconds.
        """
        self.path = path
        self._longest_s = longest_s

    def gpus(self) -> tuple[Told, ...]:
        """Return what the driver tells of its GPUs.

        Raises:
            ConfigSpaceError: The program failed, took too long, or said what makes no sense.
        """
        return parse_gpus(self._run("-q", "-x"))

    def confidential(self) -> bool | None:
        """Return whether confidential computing is on; None if this driver does not tell."""
        try:
            return parse_confidential(self._run("conf-compute", "-f"))
        except ConfigSpaceError:  # of a driver or GPUs without it
            return None

    def _run(self, *arguments: str) -> str:
        typed = " ".join(["nvidia-smi", *arguments])
        return run_vendor_tool([self.path, *arguments], typed, self._longest_s, _said)


def _said(output: str, errors: str) -> str:
    """Return the first line: the driver's complaint is that, and advice follows."""
    lines = (output + errors).splitlines()
    return next((quoted(line.strip()) for line in lines if line.strip()), "no word")
