"""The file that remembers what NVIDIA's driver told, for the time when VFIO has the GPUs."""

import os

import msgspec

from pcietune.errors import BadInputError, NotPermittedError
from pcietune.host.host_files import HostFiles
from pcietune.host.run.run_files import (
    STATE,
    cannot_keep,
    open_run_file,
    replace_run_file,
    run_path,
)
from pcietune.host.run.state_lock import state_locked
from pcietune.model.nvidia_gpu import NvidiaGpu, NvidiaGpus

NVIDIA_GPUS = "nvidia.json"

_AGAIN = "learn it again while NVIDIA's driver has the GPUs: pcietune record --nvidia FILE"


class _Gpu(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A NvidiaGpu."""

    location: str
    id: str
    module: int | None
    mig: bool | None
    boot_id: str | None


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All of NvidiaGpus."""

    gpus: tuple[_Gpu, ...]
    confidential: bool | None


def read_nvidia(files: HostFiles) -> NvidiaGpus | None:
    """Return what was kept; None if nothing was.

    Raises:
        BadInputError: The file is broken, or somebody else than root could have made it.
        NotPermittedError: This user may not read it.
    """
    try:
        descriptor = open_run_file(files, NVIDIA_GPUS, os.O_RDONLY, STATE)
        with os.fdopen(descriptor, "rb") as file:
            data = file.read()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise NotPermittedError(
            f"/{STATE}/{NVIDIA_GPUS}: {error.strerror}", hint="run pcietune as root"
        ) from error
    try:
        kept = msgspec.json.decode(data, type=_File)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        path = run_path(files, NVIDIA_GPUS, STATE)
        raise BadInputError(f"{path} is broken: {error}", hint=_AGAIN) from error
    gpus = (NvidiaGpu(g.location, g.id, g.module, g.mig, g.boot_id) for g in kept.gpus)
    return NvidiaGpus(tuple(gpus), kept.confidential)


def keep_nvidia(files: HostFiles, told: NvidiaGpus) -> None:
    """Remember what the driver told, beside what it told earlier of other GPUs.

    Everybody may read the file: it tells no GPU from another of its model.

    Raises:
        BadInputError: Somebody else than root could have made the file or its directory.
        NotPermittedError: It cannot be kept: ``/var/lib`` is full, missing or read-only.
    """
    try:
        with state_locked(files):
            known = _earlier(files).then(told)
            gpus = tuple(_Gpu(g.location, g.id, g.module, g.mig, g.boot_id) for g in known.gpus)
            text = msgspec.json.format(msgspec.json.encode(_File(gpus, known.confidential)))
            replace_run_file(files, NVIDIA_GPUS, text + b"\n", STATE)
    except OSError as error:
        raise cannot_keep("what NVIDIA's driver told", files, error, STATE) from error


def _earlier(files: HostFiles) -> NvidiaGpus:
    """Return what was kept; what is broken is written anew, and whose it is looked at then."""
    try:
        return read_nvidia(files) or NvidiaGpus()
    except BadInputError:
        return NvidiaGpus()
