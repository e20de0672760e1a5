"""The guest's Debian system: a debootstrap tree with only what tests need, as a disk image."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from bench.cache import cached, command
from bench.squashfs import pack_tree

_SUITE = "bookworm"
_PACKAGES = [
    *("busybox-static", "driverctl", "iproute2", "kmod", "pciutils"),
    *("python3", "strace", "systemd", "systemd-sysv", "udev"),
]
_NOT_NEEDED = ["usr/share/doc", "usr/share/locale", "usr/share/man", "var/cache/apt"]
_RECIPE = "1"  # to be raised when the code below makes something else of the same packages


@dataclass(frozen=True, slots=True)
class GuestSystem:
    """A Debian system without a kernel.

    Attributes:
        disk: Image of its file system.
        busybox: A static busybox.
    """

    disk: Path
    busybox: Path


def find_guest_system() -> GuestSystem:
    """Return the system, made by debootstrap if need be.

    The environment's PCIETUNE_BENCH_MIRROR is the mirror to use instead of debootstrap's own.

    Raises:
        CacheError: debootstrap or mksquashfs failed or is not installed.
    """
    mirror = os.environ.get("PCIETUNE_BENCH_MIRROR", "")
    directory = cached(
        "system", [_SUITE, *_PACKAGES, _RECIPE], lambda directory: _build(directory, mirror)
    )
    return GuestSystem(disk=directory / "system.squashfs", busybox=directory / "busybox")


def _build(directory: Path, mirror: str) -> None:
    tree = directory / "tree"
    command(
        *("unshare", "--mount"),  # so that what debootstrap mounts in there goes when it ends
        *("debootstrap", "--variant=minbase", f"--include={','.join(_PACKAGES)}"),
        *(_SUITE, tree),
        *([mirror] if mirror else []),
    )
    for path in _NOT_NEEDED:
        shutil.rmtree(tree / path)
    shutil.copy(tree / "bin/busybox", directory / "busybox")
    pack_tree(tree, directory / "system.squashfs")
    shutil.rmtree(tree)
