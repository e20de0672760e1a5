"""The VM's CPU as libvirt's element (docs/formatdomain.rst)."""

from collections.abc import Sequence

from pcietune.guest.libvirt.element import Element, element
from pcietune.guest.libvirt.numa import cell_elements
from pcietune.guest.plan import Cell


def cpu(cells: Sequence[Cell]) -> Element:
    """Return the host's CPU with all its address bits, and the cells.

    All bits: without them the firmware finds no room for the windows of large BARs.
    """
    return element("cpu", mode="host-passthrough").with_content(
        _topology(cells),
        element("maxphysaddr", mode="passthrough"),
        cell_elements(cells),
    )


def _topology(cells: Sequence[Cell]) -> Element:
    """Return a socket for each cell that has CPUs, or one for all if the cells are not alike."""
    total = sum(len(each.vcpus) for each in cells)
    shapes = {(len(each.vcpus), each.threads) for each in cells if each.vcpus}
    threads = {threads for _, threads in shapes}
    sockets = sum(1 for each in cells if each.vcpus) if len(shapes) == 1 else 1
    if len(threads) != 1 or total % (sockets * max(threads)):
        return element("topology", sockets=1, dies=1, cores=total, threads=1)
    (per_core,) = threads
    cores = total // (sockets * per_core)
    return element("topology", sockets=sockets, dies=1, cores=cores, threads=per_core)
