"""The guest's Debian system: a debootstrap tree with only what tests need, as a disk image."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from bench.cache import cached
from bench.debian_tree import make_tree
from bench.squashfs import pack_tree

_PACKAGES = [
    *("busybox-static", "driverctl", "iproute2", "kmod", "pciutils"),
    *("python3", "strace", "systemd", "systemd-sysv", "udev"),
]
_RECIPE = "bookworm, 2"  # to be changed when what is made of the same packages changes


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

    Raises:
        CacheError: debootstrap or mksquashfs failed or is not installed.
    """
    directory = cached("system", [*_PACKAGES, _RECIPE], _build)
    return GuestSystem(disk=directory / "system.squashfs", busybox=directory / "busybox")


def _build(directory: Path) -> None:
    tree = directory / "tree"
    make_tree(tree, _PACKAGES)
    shutil.copy(tree / "bin/busybox", directory / "busybox")
    pack_tree(tree, directory / "system.squashfs")
    shutil.rmtree(tree)
