"""The VM's CPU as libvirt's element (docs/formatdomain.rst)."""

from collections.abc import Sequence

from pcietune.guest.cpu_topology import cpu_topology
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
    found = cpu_topology(cells)
    return element(
        "topology", sockets=found.sockets, dies=1, cores=found.cores, threads=found.threads
    )
