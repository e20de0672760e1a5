"""What only NVIDIA's own driver tells of GPUs, and VFIO hides."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Self

from pcietune.address import PciAddress
from pcietune.model.function import PciFunction
from pcietune.model.location import location_order

NVIDIA = 0x10DE
DISPLAY = 0x03  # base class
MODULES = range(1, 17)
"""Module ids that Fabric Manager's partitions name (Fabric Manager User Guide, physicalId)."""


def is_nvidia_gpu(function: PciFunction) -> bool:
    """Return whether a function is one of NVIDIA's GPUs; a GPU's audio function is none."""
    return function.vendor == NVIDIA and function.class_code >> 16 == DISPLAY


@dataclass(frozen=True, slots=True)
class NvidiaGpu:
    """What the driver said of one GPU.

    Attributes:
        location: Of the GPU.
        id: Vendor and Device ID, as ``10de:20b2``.
        module: The place of its module on the board, from 1; None if it has none, or not known.
        mig: Whether MIG is on, or will be after a reset; None if not known.
        boot_id: Of the boot in which the driver said so; None if not known.
    """

    location: str
    id: str
    module: int | None
    mig: bool | None
    boot_id: str | None


@dataclass(frozen=True, slots=True)
class NvidiaGpus:
    """What the driver said of all that it had.

    Attributes:
        gpus: In the order of locations.
        confidential: Whether confidential computing is on; None if not known.
    """

    gpus: tuple[NvidiaGpu, ...] = ()
    confidential: bool | None = None

    def then(self, later: Self) -> "NvidiaGpus":
        """Return what is known after ``later`` too, which wins for each GPU that it has."""
        known = {gpu.location: gpu for gpu in (*self.gpus, *later.gpus)}
        gpus = tuple(known[location] for location in sorted(known, key=location_order))
        return NvidiaGpus(without_repeated(gpus), later.confidential)

    def by_address(self, functions: Iterable[PciFunction]) -> Mapping[PciAddress, NvidiaGpu]:
        """Return what was said of each function that is where it was, and still of that model."""
        known = {(gpu.location, gpu.id): gpu for gpu in self.gpus}
        found = ((each.address, known.get((each.location, each.id))) for each in functions)
        return {address: gpu for address, gpu in found if gpu is not None}


def without_repeated(gpus: Iterable[NvidiaGpu]) -> tuple[NvidiaGpu, ...]:
    """Return GPUs without the module ids that several have.

    Cards in slots all say 1, so that tells nothing of them.
    """
    all_gpus = tuple(gpus)
    said = [gpu.module for gpu in all_gpus]
    return tuple(replace(g, module=None) if said.count(g.module) > 1 else g for g in all_gpus)
