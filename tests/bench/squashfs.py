"""Disk images: squashfs, uncompressed, since the guest's emulated processors would decompress."""

import contextlib
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

from bench.cache import CacheError, command

_OPTIONS = ["-noappend", "-no-progress", "-no-xattrs", "-noI", "-noD", "-noF", "-noX"]


def pack_tree(tree: Path, image: Path) -> None:
    """Make an image of a directory's content.

    Raises:
        CacheError: mksquashfs failed or is not installed.
    """
    command("mksquashfs", tree, image, *_OPTIONS)


def pack_files(add_files: Callable[[tarfile.TarFile], None], image: Path) -> None:
    """Make an image of the files that ``add_files`` adds to the archive that it is given.

    Raises:
        CacheError: mksquashfs failed or is not installed.
    """
    try:
        packer = subprocess.Popen(
            ["mksquashfs", "-", image, "-tar", *_OPTIONS],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
        )
    except FileNotFoundError as error:
        raise CacheError("mksquashfs is not installed") from error
    with (
        packer,
        contextlib.suppress(BrokenPipeError),  # its exit status says so too
        tarfile.open(fileobj=packer.stdin, mode="w|") as archive,
    ):
        add_files(archive)
    if packer.returncode:
        raise CacheError(f"mksquashfs failed with exit status {packer.returncode}")
