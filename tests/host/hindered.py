"""Hindrances: no room on the disk, no rights."""

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager

_NOBODY = 65534


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """Let the kernel cut off what is written past ``size``, as a full file system does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def as_nobody() -> Iterator[None]:
    """Be nobody for a while, unless this is no root that could be."""
    root = os.geteuid() == 0
    if root:
        os.setresuid(_NOBODY, _NOBODY, 0)  # access(2) asks for the real user
    try:
        yield
    finally:
        if root:
            os.setresuid(0, 0, 0)
