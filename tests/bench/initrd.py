"""The guest's initrd: busybox, the modules that its disks need, and what mounts them."""

import stat
from pathlib import Path

from bench.guest_system import GuestSystem
from bench.kernel_package import Kernel

_PARTS = Path(__file__).parent / "guest_parts"
_DIRECTORIES = ["bin", "dev", "modules", "proc", "sys", "whole"]
_PROGRAMS = ["init", "mount-root", "tell-pci"]
_MODULES = ["drivers/block/virtio_blk", "fs/overlayfs/overlay", "fs/squashfs/squashfs"]


def make_initrd(kernel: Kernel, system: GuestSystem) -> bytes:
    """Return the initrd, uncompressed."""
    members = [_member(name, stat.S_IFDIR | 0o755) for name in _DIRECTORIES]
    members.append(_member("bin/busybox", stat.S_IFREG | 0o755, system.busybox.read_bytes()))
    for program in _PROGRAMS:
        content = (_PARTS / program).read_bytes()
        members.append(_member(program, stat.S_IFREG | 0o755, content))
    for module in _MODULES:
        name = f"modules/{module.rpartition('/')[2]}.ko"
        members.append(_member(name, stat.S_IFREG | 0o644, kernel.module(module)))
    return b"".join(members) + _member("TRAILER!!!", 0)


def _member(name: str, mode: int, content: bytes = b"") -> bytes:
    """Return one member of a cpio archive in the format that the kernel reads.

    Source: Documentation/driver-api/early-userspace/buffer-format.rst. Fields: inode, mode, uid,
    gid, links, time, size, four numbers of devices, length of the name, checksum.
    """
    path = name.encode() + b"\0"
    numbers = [0, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(path), 0]
    header = b"070701" + b"".join(b"%08X" % number for number in numbers)
    return _padded(header + path) + _padded(content)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)
