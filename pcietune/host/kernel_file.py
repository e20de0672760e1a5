"""Write the small files by which the kernel takes orders."""

import errno
import os
from pathlib import Path

from pcietune.errors import ConfigSpaceError, InUseError, NotPermittedError, PcietuneError
from pcietune.host.host_files import HostFiles

# iommu_group_store_type() in drivers/iommu/iommu.c answers EPERM where a driver or VFIO owns the
# group, EBUSY in older kernels, and EACCES to who may not.
_BUSY = (errno.EBUSY, errno.EPERM)
_FORBIDDEN = (errno.EACCES, errno.EROFS)


def write_kernel_file(files: HostFiles, relative: str, text: str) -> None:
    """Write ``text`` to a file that exists, in one system call; in a recording, replace it.

    Raises:
        InUseError: The kernel is busy with what the file is about.
        NotPermittedError: This user may not.
        ConfigSpaceError: There is no such file, or the kernel refused the value.
    """
    path, data = files.path(relative), f"{text}\n".encode()
    try:
        if files.recorded:
            _replace(Path(path), data)
        else:
            _write(path, data, os.O_WRONLY)
    except OSError as error:
        raise _told(relative, text, error) from error


def _write(path: str, data: bytes, flags: int) -> None:
    descriptor = os.open(path, flags | os.O_CLOEXEC, 0o644)
    try:
        os.write(descriptor, data)
    finally:
        os.close(descriptor)


def _replace(path: Path, data: bytes) -> None:
    """Put another file in a plain file's place, so that a kill leaves the one or the other."""
    if not path.is_file():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    new = path.with_name(f"{path.name}.new")
    new.unlink(missing_ok=True)  # of a run that was killed, or a link that leads elsewhere
    _write(str(new), data, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    new.replace(path)


def _told(relative: str, text: str, error: OSError) -> PcietuneError:
    what = f"/{relative}: the kernel did not take {text!r}: {error.strerror}"
    if error.errno in _BUSY:
        return InUseError(what, hint="a driver or a VM has it: try again when it is idle")
    if error.errno in _FORBIDDEN:
        return NotPermittedError(what, hint="run pcietune as root")
    return ConfigSpaceError(what)
