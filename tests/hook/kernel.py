"""The kernel's side of ``drivers_probe``, for a tree that stands for a host."""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from trees.host import TreeHost

_LONGEST_S = 30.0


@contextmanager
def kernel_that_binds(tree: TreeHost, address: str, driver: str) -> Iterator[None]:
    """Bind a function to a driver when its override names that and it is probed.

    ``drivers_probe`` is a pipe, which nobody can open for writing before this side opens it: by
    then the driver has the function, as in the kernel, whose write returns after the probe.
    """
    probe = tree.root / "sys/bus/pci/drivers_probe"
    os.mkfifo(probe)
    thread = threading.Thread(target=_bind, args=(tree, address, driver, probe), daemon=True)
    thread.start()
    yield
    thread.join(_LONGEST_S)
    assert not thread.is_alive()


def with_override(tree: TreeHost, address: str, override: str = "(null)") -> Path:
    """Let a function have the attribute, as the kernel shows it."""
    file = tree.directory(address) / "driver_override"
    file.write_text(f"{override}\n")
    return file


def _bind(tree: TreeHost, address: str, driver: str, probe: Path) -> None:
    deadline = time.monotonic() + _LONGEST_S
    override = tree.directory(address) / "driver_override"
    while override.read_text() != f"{driver}\n" and time.monotonic() < deadline:
        time.sleep(0.01)
    path = str(tree.directory(address).relative_to(tree.root.resolve()))
    tree.link(f"{path}/driver", f"sys/bus/pci/drivers/{driver}")
    (tree.directory(address) / "vfio-dev").mkdir()
    assert probe.read_text() == f"{address}\n"
