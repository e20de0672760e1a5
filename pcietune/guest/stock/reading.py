"""Reads of a function what its place in a VM depends on."""

from collections.abc import Mapping
from contextlib import suppress

from pcietune.errors import PcietuneError
from pcietune.guest.chosen import Chosen
from pcietune.guest.kinds import Kind
from pcietune.model.access import HostAccess
from pcietune.model.bars import Bar, bars_of
from pcietune.model.fabric import Fabric
from pcietune.model.function import FunctionState, LinkState, PciFunction
from pcietune.model.numa_node import NumaNode
from pcietune.registers.ats import Ats
from pcietune.registers.express import PortType
from pcietune.registers.sriov import SrIov


def read_chosen(
    host: HostAccess,
    fabric: Fabric,
    function: PciFunction,
    state: FunctionState,
    kind: Kind,
) -> Chosen:
    """Return a function with all that was found out of it; what could not be read is None."""
    above = fabric.ports_above(function)
    linked = fabric.functions.get(state.physical_function or function.address, function)
    return Chosen(
        function=function,
        kind=kind,
        state=state,
        link=_link(host, linked),
        port_link=_link(host, above[-1]) if above else None,
        bars=_bars(host, function),
        ats=_has_ats(host, function),
        switches=tuple(p for p in above if fabric.port_type(p) is PortType.UPSTREAM_PORT),
        root_link=_link(host, above[0]) if above else None,
    )


def total_vfs(host: HostAccess, function: PciFunction) -> int | None:
    """Return how many VFs a function can have; None if that cannot be read."""
    with suppress(PcietuneError):
        capability = SrIov.find(host.config(function))
        return 0 if capability is None else capability.total
    return None


def state_of(host: HostAccess, function: PciFunction) -> FunctionState | None:
    """Return what sysfs says of a function; None if it vanished."""
    with suppress(PcietuneError):
        return host.state(function)
    return None


def only_node(nodes: Mapping[int, NumaNode]) -> int | None:
    """Return the only node with CPUs; None if there are several, or none is known."""
    with_cpus = [node.number for node in nodes.values() if node.cpus]
    return with_cpus[0] if len(with_cpus) == 1 else None


def _link(host: HostAccess, function: PciFunction) -> LinkState | None:
    """Return a link; its Configuration Space is opened first, which wakes nothing that sleeps."""
    with suppress(PcietuneError):
        host.config(function)
        return host.link(function)
    return None


def _bars(host: HostAccess, function: PciFunction) -> tuple[Bar, ...] | None:
    text = host.attribute(function, "resource")
    if text is None:
        return None
    with suppress(ValueError):
        return tuple(bars_of(text))
    return None


def _has_ats(host: HostAccess, function: PciFunction) -> bool | None:
    with suppress(PcietuneError):
        return Ats.find(host.config(function)) is not None
    return None
