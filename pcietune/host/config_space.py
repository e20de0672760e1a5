"""Configuration Space through the kernel's ``config`` files (drivers/pci/pci-sysfs.c).

The kernel splits an access into aligned ones of 1, 2 or 4 bytes, so an unbuffered access of a
register's own width is one cycle on the bus. It reports no failure of the device: a read then
gives all ones, and a write is lost; what was written must be read back.
"""

import os

from pcietune.address import PciAddress
from pcietune.errors import ConfigSpaceError, NotPermittedError, PcietuneError
from pcietune.registers.config_space import (
    CONVENTIONAL_SIZE,
    EXTENDED_SIZE,
    ConfigSpace,
    does_not_answer,
)
from pcietune.registers.fields import MaskedWrite

_UNPRIVILEGED_SIZE = 64  # bytes that the kernel shows to everybody; 128 of a CardBus bridge
_RUN_AS_ROOT = "run pcietune as root"

# errno is not imported: the numbers of all of Linux's architectures (asm-generic/errno-base.h).
_EPERM = 1
_ENOENT = 2
_ENXIO = 6
_EACCES = 13
_ENODEV = 19
_EROFS = 30


class FileConfigSpace(ConfigSpace):
    """One function's Configuration Space in a file, each register read when it is asked for.

    The file is opened for each access: beside a configuration cycle that costs nothing, and a
    host of any size needs one descriptor.
    """

    __slots__ = ("_path",)

    _path: str

    def __init__(self, address: PciAddress, path: str) -> None:
        """Look at the size of the file, which costs no configuration cycle.

        Raises:
            ConfigSpaceError: The function vanished.
            NotPermittedError: The kernel keeps the file from this user.
        """
        try:
            size = os.stat(path).st_size
        except OSError as error:
            raise _unreadable(address, error) from error
        super().__init__(address, EXTENDED_SIZE if size > CONVENTIONAL_SIZE else CONVENTIONAL_SIZE)
        self._path = path

    def write(self, write: MaskedWrite) -> None:
        """Write the masked bits of one register, in one access of exactly its width.

        All other bits are written as they read just before.

        Raises:
            ConfigSpaceError: The function vanished, or the register reads as all ones.
            NotPermittedError: The kernel refused the write.
        """
        word = self.read_again(write.offset, write.width)
        if word == (1 << 8 * write.width) - 1:
            raise does_not_answer(self.address)
        data = write.merge(word).to_bytes(write.width, "little")
        self._forget_register(write.offset, write.width)
        try:
            descriptor = os.open(self._path, os.O_WRONLY | os.O_CLOEXEC)
            try:
                os.pwrite(descriptor, data, write.offset)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise _unwritable(self.address, error) from error

    def _forget_register(self, offset: int, width: int) -> None:
        """Drop whatever was remembered of the bytes that are about to change."""
        for start, length in list(self._seen):
            if start < offset + width and offset < start + length:
                del self._seen[start, length]

    def _fetch(self, offset: int, width: int) -> bytes:
        try:
            descriptor = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                data = os.pread(descriptor, width, offset)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise _unreadable(self.address, error) from error
        if len(data) < width:
            raise self._ends_before(offset)
        return data

    def _ends_before(self, offset: int) -> PcietuneError:
        """Return the error for a register that lies behind the file's readable part."""
        if offset < _UNPRIVILEGED_SIZE:
            return ConfigSpaceError(f"{self.address}: nothing can be read at {offset:#05x}")
        return NotPermittedError(
            f"{self.address}: only the first {_UNPRIVILEGED_SIZE} bytes may be read",
            hint=_RUN_AS_ROOT,
        )


def _unreadable(address: PciAddress, error: OSError) -> PcietuneError:
    """Return what the user is told when the kernel refuses to read."""
    if error.errno in (_ENOENT, _ENODEV, _ENXIO):
        return ConfigSpaceError(
            f"{address} vanished while it was looked at",
            hint="was it unplugged or removed? run pcietune again",
        )
    if error.errno in (_EPERM, _EACCES):
        return NotPermittedError(
            f"{address}: Configuration Space may not be read", hint=_RUN_AS_ROOT
        )
    return ConfigSpaceError(f"{address}: Configuration Space cannot be read: {error.strerror}")


def _unwritable(address: PciAddress, error: OSError) -> PcietuneError:
    """Return what the user is told when the kernel refuses to write."""
    if error.errno == _EPERM:
        return NotPermittedError(
            f"{address}: the kernel refused to write Configuration Space: it is locked down",
            hint="set the bits with pci=config_acs= on the kernel command line, which the kernel"
            " heeds from 6.11 on; see /sys/kernel/security/lockdown",
        )
    if error.errno == _EACCES:
        return NotPermittedError(
            f"{address}: Configuration Space may not be written", hint=_RUN_AS_ROOT
        )
    if error.errno == _EROFS:
        return NotPermittedError(
            f"{address}: Configuration Space may not be written: /sys is mounted read-only",
            hint="run pcietune on the host itself, not in a container",
        )
    return _unreadable(address, error)
