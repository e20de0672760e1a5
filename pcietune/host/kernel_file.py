"""Write the small files by which the kernel takes orders."""

import errno
import os

from pcietune.errors import ConfigSpaceError, InUseError, NotPermittedError, PcietuneError
from pcietune.host.host_files import HostFiles

# iommu_group_store_type() in drivers/iommu/iommu.c answers EPERM where a driver or VFIO owns the
# group, EBUSY in older kernels, and EACCES to who may not.
_BUSY = (errno.EBUSY, errno.EPERM)
_FORBIDDEN = (errno.EACCES, errno.EROFS)


def write_kernel_file(files: HostFiles, relative: str, text: str) -> None:
    """Write ``text`` to a file that exists, in one system call.

    Raises:
        InUseError: The kernel is busy with what the file is about.
        NotPermittedError: This user may not.
        ConfigSpaceError: There is no such file, or the kernel refused the value.
    """
    try:
        descriptor = os.open(files.path(relative), _flags(files))
        try:
            os.write(descriptor, f"{text}\n".encode())
        finally:
            os.close(descriptor)
    except OSError as error:
        raise _told(relative, text, error) from error


def _flags(files: HostFiles) -> int:
    """Return how to open: a recording's plain file is cut off, as sysfs replaces what it shows."""
    return os.O_WRONLY | os.O_CLOEXEC | (os.O_TRUNC if files.recorded else 0)


def _told(relative: str, text: str, error: OSError) -> PcietuneError:
    what = f"/{relative}: the kernel did not take {text!r}: {error.strerror}"
    if error.errno in _BUSY:
        return InUseError(what, hint="a driver or a VM has it: try again when it is idle")
    if error.errno in _FORBIDDEN:
        return NotPermittedError(what, hint="run pcietune as root")
    return ConfigSpaceError(what)
