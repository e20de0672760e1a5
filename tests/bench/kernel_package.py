"""Debian's 6.12 kernel for bookworm, unpacked from its package and not installed."""

import functools
import lzma
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from bench.cache import CacheError, cached, command
from bench.squashfs import pack_tree

_METAPACKAGE = "linux-image-6.12-amd64"  # depends on the newest kernel of that series


@dataclass(frozen=True, slots=True)
class Kernel:
    """An unpacked kernel.

    Attributes:
        image: A bzImage.
        modules_disk: Image of a file system with its modules in usr/lib/modules.
        modules: The directory of the modules themselves.
    """

    image: Path
    modules_disk: Path
    modules: Path

    def module(self, path: str) -> bytes:
        """Return a module as insmod takes it; ``path`` is relative to the kernel's own tree."""
        return lzma.decompress((self.modules / "kernel" / f"{path}.ko.xz").read_bytes())


@functools.cache
def find_kernel() -> Kernel:
    """Return the newest kernel that this machine's package lists know, downloaded if need be.

    Raises:
        CacheError: The package lists do not know one, or it could not be downloaded.
    """
    dependencies = command("apt-cache", "depends", _METAPACKAGE)
    package = re.search(r"Depends: (linux-image-\S+)", dependencies)
    if package is None:
        raise CacheError(f"no package {_METAPACKAGE}; has apt-get update been run?")
    shown = command("apt-cache", "show", "--no-all-versions", package[1])
    version = re.search(r"^Version: (\S+)$", shown, re.MULTILINE)
    if version is None:
        raise CacheError(f"no version of {package[1]}")
    release = package[1].removeprefix("linux-image-")
    directory = cached(
        "kernel", [package[1], version[1]], lambda to: _unpack(package[1], version[1], release, to)
    )
    return Kernel(
        image=directory / "vmlinuz",
        modules_disk=directory / "modules.squashfs",
        modules=directory / "modules/usr/lib/modules" / release,
    )


def _unpack(package: str, version: str, release: str, directory: Path) -> None:
    download = directory / "download"
    download.mkdir()
    command("sh", "-c", f"cd '{download}' && apt-get download '{package}={version}'")
    (archive,) = download.glob("*.deb")
    tree = directory / "tree"
    command("dpkg-deb", "--extract", archive, tree)
    shutil.rmtree(download)
    (tree / "boot" / f"vmlinuz-{release}").rename(directory / "vmlinuz")
    modules = directory / "modules"
    (modules / "usr").mkdir(parents=True)  # in the guest /lib is a link to /usr/lib
    (tree / "lib").rename(modules / "usr/lib")
    shutil.rmtree(tree)
    command("depmod", "--basedir", modules / "usr", release)
    pack_tree(modules, directory / "modules.squashfs")
