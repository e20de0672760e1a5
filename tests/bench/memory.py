"""Configuration spaces inside a running QEMU: found and rewritten in its memory.

QEMU keeps, for each PCI device, the bytes that the guest reads and masks of equal length which say
what the guest may write. They are arrays on the heap, and ``struct PCIDevice`` (QEMU's
include/hw/pci/pci_device.h) points to them one after another: config, cmask, wmask, w1cmask, used.
The struct begins with a ``DeviceState``, which points to the device's id as given on the command
line; so the id leads to the arrays.
"""

import os
import re
import struct
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from bench.config_patches import Patch

SIZE = 4096
_ID = 0x28  # bytes from the start of the struct to the pointer to the id, in QEMU 7.2
_ID_TO_ARRAYS = 0x80  # bytes from the pointer to the id to those to the arrays, in QEMU 7.2
_ARRAYS = struct.Struct("<5Q")
_CHECKED_ON_MIGRATION = b"\xff\xff\xff\xff"  # what cmask has at Vendor and Device ID


@dataclass(frozen=True, slots=True)
class ConfigSpace:
    """One function's configuration space in QEMU's memory.

    Attributes:
        memory: Open file of the process's memory.
        device: Address of the ``struct PCIDevice``.
        config: Address of the bytes that the guest reads.
        writable: Address of the mask of bits that take a write.
        clearable: Address of the mask of bits that a write of 1 clears.
    """

    memory: int
    device: int
    config: int
    writable: int
    clearable: int

    @classmethod
    def of_device(cls, memory: int, device: int) -> Self | None:
        """Return that of the ``struct PCIDevice`` at an address; None: there is none."""
        try:
            pointers = os.pread(memory, _ARRAYS.size, device + _ID + _ID_TO_ARRAYS)
            config, cmask, wmask, w1cmask, _ = _ARRAYS.unpack(pointers)
            checked = os.pread(memory, len(_CHECKED_ON_MIGRATION), cmask)
            for array in (config, wmask, w1cmask):  # what only looks like a device has none
                os.pread(memory, SIZE, array)
        except (OSError, OverflowError, struct.error):
            return None
        if checked != _CHECKED_ON_MIGRATION:
            return None
        return cls(memory, device, config, wmask, w1cmask)

    def read(self) -> bytes:
        """Return all of it."""
        return os.pread(self.memory, SIZE, self.config)

    def write(self, patch: Patch) -> None:
        """Store the patch, whatever the guest may write there."""
        os.pwrite(self.memory, patch.data, self.config + patch.offset)
        if patch.writable is not None:
            if len(patch.writable) != len(patch.data):
                raise ValueError("the mask of writable bits is as long as the data")
            os.pwrite(self.memory, patch.writable, self.writable + patch.offset)

    def save(self) -> "SavedConfigSpace":
        """Return what ``restore`` puts back."""
        return SavedConfigSpace(
            config=self.read(),
            writable=os.pread(self.memory, SIZE, self.writable),
            clearable=os.pread(self.memory, SIZE, self.clearable),
        )

    def restore(self, saved: "SavedConfigSpace") -> None:
        """Put back bytes and masks."""
        os.pwrite(self.memory, saved.config, self.config)
        os.pwrite(self.memory, saved.writable, self.writable)
        os.pwrite(self.memory, saved.clearable, self.clearable)


@dataclass(frozen=True, slots=True)
class SavedConfigSpace:
    """Bytes and masks of a configuration space."""

    config: bytes
    writable: bytes
    clearable: bytes


ABSENT = SavedConfigSpace(config=b"\xff" * SIZE, writable=bytes(SIZE), clearable=bytes(SIZE))
"""A function that does not answer: it reads as all ones and ignores writes."""


def find_config_spaces(pid: int, memory: int, ids: Collection[str]) -> dict[str, ConfigSpace]:
    """Find the configuration space of each device in a QEMU that stands still.

    Args:
        pid: Of QEMU.
        memory: Open file of its memory.
        ids: Of the devices, as given on QEMU's command line.

    Raises:
        LookupError: A device was not found: this QEMU is laid out differently.
    """
    start, heap = _heap(pid, memory)
    names = {
        start + match.start(): match[1].decode()
        for match in re.finditer(rb"(?<=\0)([a-z][a-z0-9-]*)\0", heap)
        if match[1].decode() in ids
    }
    found: dict[str, ConfigSpace] = {}
    for index, word in enumerate(memoryview(heap[: len(heap) // 8 * 8]).cast("Q")):
        name = names.get(word)
        if name is not None and name not in found:
            space = ConfigSpace.of_device(memory, start + index * 8 - _ID)
            if space is not None:
                found[name] = space
    if missing := set(ids) - found.keys():
        raise LookupError(f"no configuration space found in QEMU for {sorted(missing)}")
    if len({space.config for space in found.values()}) < len(found):
        raise LookupError("one configuration space found in QEMU for two devices")
    return found


def _heap(pid: int, memory: int) -> tuple[int, bytes]:
    """Return the heap's address and content."""
    for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
        if line.endswith("[heap]"):
            start, end = (int(address, 16) for address in line.split()[0].split("-"))
            return start, os.pread(memory, end - start, start)
    raise LookupError("QEMU has no heap")
