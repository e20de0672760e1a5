"""Learns what only NVIDIA's driver knows, and keeps it."""

from collections.abc import Iterable

from pcietune.errors import BadInputError
from pcietune.host.nvidia.answer import Told
from pcietune.host.nvidia.kept import keep_nvidia
from pcietune.host.nvidia.tool import NvidiaSmi, check_driver_has_gpus, find_nvidia_smi
from pcietune.host.sysfs import SysfsHost
from pcietune.model.function import PciFunction
from pcietune.model.location import location_order
from pcietune.model.nvidia_gpu import NvidiaGpu, NvidiaGpus, without_repeated


def learn_and_keep(host: SysfsHost, path: str | None = None) -> NvidiaGpus:
    """Ask the driver of a live host, keep what it says, and return that.

    Args:
        host: The host.
        path: Where nvidia-smi is looked for; None means PATH.

    Raises:
        BadInputError: The host is a recording, the driver has no GPU, or nvidia-smi is not there.
        ConfigSpaceError: nvidia-smi failed, took too long, or said what makes no sense.
        NotPermittedError: It cannot be kept: not root, or ``/var/lib`` is full or read-only.
    """
    if host.recorded:
        raise BadInputError(
            "--nvidia asks a driver, and a recorded host has none", hint="leave --nvidia out"
        )
    check_driver_has_gpus(host.functions())
    told = learn(find_nvidia_smi(path), host.functions(), host.platform().boot_id)
    keep_nvidia(host.files, told)
    return told


def learn(tool: NvidiaSmi, functions: Iterable[PciFunction], boot_id: str | None) -> NvidiaGpus:
    """Return what the driver tells of GPUs among ``functions``.

    Raises:
        ConfigSpaceError: As ``NvidiaSmi.gpus``.
    """
    known = {function.address: function for function in functions}
    told = [each for each in tool.gpus() if each.address in known]
    gpus = [_gpu(known[each.address], each, boot_id) for each in told]
    gpus.sort(key=lambda gpu: location_order(gpu.location))
    return NvidiaGpus(without_repeated(gpus), tool.confidential())


def _gpu(function: PciFunction, told: Told, boot_id: str | None) -> NvidiaGpu:
    return NvidiaGpu(function.location, function.id, told.module, told.mig, boot_id)
