"""The virtual functions of a running QEMU's NVMe controller: found, and made what they are to be.

QEMU makes them when the guest sets VF Enable, and none of its options says what they look like.
``struct PCIDevice`` of the physical function holds, in ``struct PCIESriovPF`` (QEMU's
include/hw/pci/pcie_sriov.h), their number, the name of their kind, and a pointer to an array of
pointers to them.
"""

import os
import struct

from bench.memory import ConfigSpace

_KIND = b"nvme\0"
_SEARCHED = 0x1000  # bytes of the physical function's struct, more than PCIDevice's own
_KIND_AND_ARRAY = struct.Struct("<2Q")


def find_virtual_functions(physical: ConfigSpace, number: int) -> list[ConfigSpace]:
    """Return the configuration spaces of the virtual functions that a function has switched on.

    Raises:
        LookupError: It has fewer, or this QEMU is laid out differently.
    """
    searched = os.pread(physical.memory, _SEARCHED, physical.device)
    for offset in range(0, _SEARCHED - _KIND_AND_ARRAY.size, 8):
        kind, array = _KIND_AND_ARRAY.unpack_from(searched, offset)
        if _read(physical.memory, kind, len(_KIND)) != _KIND:
            continue
        pointers = _read(physical.memory, array, 8 * number)
        if len(pointers) < 8 * number:
            continue
        spaces = [
            ConfigSpace.of_device(physical.memory, device)
            for (device,) in struct.iter_unpack("<Q", pointers)
        ]
        found = [space for space in spaces if space is not None]
        if len(found) == number:
            return found
    raise LookupError(f"{number} virtual functions not found in QEMU")


def _read(memory: int, address: int, size: int) -> bytes:
    """Return what is there; nothing if no memory is."""
    try:
        return os.pread(memory, size, address)
    except (OSError, OverflowError):
        return b""
