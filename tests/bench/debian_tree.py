"""Debian systems made by debootstrap."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from bench.cache import cached, command

_SUITE = "bookworm"
_NOT_NEEDED = ["usr/share/doc", "usr/share/locale", "usr/share/man", "var/cache/apt"]


def make_tree(tree: Path, packages: Sequence[str]) -> None:
    """Make a minimal system with some packages more.

    The environment's PCIETUNE_BENCH_MIRROR is the mirror to use instead of debootstrap's own.

    Raises:
        CacheError: debootstrap failed or is not installed.
    """
    mirror = os.environ.get("PCIETUNE_BENCH_MIRROR", "")
    command(
        *("unshare", "--mount"),  # so that what debootstrap mounts in there goes when it ends
        *("debootstrap", "--variant=minbase", f"--include={','.join(packages)}"),
        *(_SUITE, tree),
        *([mirror] if mirror else []),
    )
    for path in _NOT_NEEDED:
        shutil.rmtree(tree / path)


def cached_tree(kind: str, packages: Sequence[str]) -> Path:
    """Return the folder of such a system, which is not to be changed.

    Args:
        kind: What it is for, in a word.
        packages: That it has besides.

    Raises:
        CacheError: debootstrap failed or is not installed.
    """
    key = [_SUITE, *packages]
    return cached(kind, key, lambda folder: make_tree(folder / "tree", packages)) / "tree"
