"""libvirt's programs for every test here."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from guest.libvirt.virsh import Virsh


@pytest.fixture(scope="session")
def virsh() -> Iterator[Virsh]:
    """One for all: what QEMU can do is asked once, and takes seconds."""
    with TemporaryDirectory(prefix="virsh-") as folder:  # tmp_path is closed to nobody
        yield Virsh(Path(folder))
