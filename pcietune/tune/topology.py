"""Describe a host's fabric, function by function: what ``topo`` shows."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pcietune.address import PciAddress
from pcietune.errors import ExitCode, PcietuneError
from pcietune.model.access import HostAccess
from pcietune.model.fabric import Fabric
from pcietune.model.function import FunctionState, LinkState, PciFunction
from pcietune.model.profile import RoleName
from pcietune.registers.ats import Ats
from pcietune.registers.express import PortType
from pcietune.tune.port_acs import find_acs


@dataclass(frozen=True, slots=True)
class Node:
    """One function and what is below it.

    Attributes:
        function: The function.
        role: None if it has none.
        port_type: None for an endpoint.
        state: None if the function vanished meanwhile.
        link: None alike, or if a register could not be read.
        acs: ACS Capability and ACS Control; None without the capability, or if unreadable.
        ats: ATS Capability and ATS Control; None alike.
        problem: What kept a register from being read; None if all could be.
        children: In the order of addresses.
    """

    function: PciFunction
    role: RoleName | None
    port_type: PortType | None
    state: FunctionState | None
    link: LinkState | None
    acs: tuple[int, int] | None
    ats: tuple[int, int] | None
    problem: PcietuneError | None
    children: tuple["Node", ...]

    def codes(self) -> list[ExitCode]:
        """Return the exit codes of all problems here and below."""
        own = [] if self.problem is None else [self.problem.exit_code]
        return own + [code for child in self.children for code in child.codes()]


def topology(
    host: HostAccess,
    fabric: Fabric,
    roles: Mapping[PciAddress, RoleName],
    *,
    everything: bool,
) -> tuple[Node, ...]:
    """Return the trees below the host's root ports, and below bridges that are not known.

    Args:
        host: Where registers and states come from.
        fabric: The functions.
        roles: Which function has which role.
        everything: Whether to show functions that have no role and nothing below that has.
    """
    shown = set(fabric.functions)
    if not everything and roles:
        shown = set(roles) | {port for a in roles for port in fabric.functions[a].ports}
    known = fabric.functions
    tops = [f for f in known.values() if not f.ports or f.ports[-1] not in known]
    return tuple(_nodes(host, fabric, roles, shown, tops))


def _nodes(
    host: HostAccess,
    fabric: Fabric,
    roles: Mapping[PciAddress, RoleName],
    shown: set[PciAddress],
    functions: Iterable[PciFunction],
) -> Iterable[Node]:
    for function in functions:
        if function.address not in shown:
            continue
        children = _nodes(host, fabric, roles, shown, fabric.children(function))
        yield _node(host, fabric, roles, function, tuple(children))


def _node(
    host: HostAccess,
    fabric: Fabric,
    roles: Mapping[PciAddress, RoleName],
    function: PciFunction,
    children: tuple[Node, ...],
) -> Node:
    state: FunctionState | None = None
    link: LinkState | None = None
    acs: tuple[int, int] | None = None
    ats: tuple[int, int] | None = None
    problem: PcietuneError | None = None
    try:
        state = host.state(function)
        acs, ats = _words(host, function)
        link = host.link(function)
    except PcietuneError as error:
        problem = error
    return Node(
        function=function,
        role=roles.get(function.address),
        port_type=fabric.port_type(function) if function.is_pci_bridge else None,
        state=state,
        link=link,
        acs=acs,
        ats=ats,
        problem=problem,
        children=children,
    )


def _words(
    host: HostAccess, function: PciFunction
) -> tuple[tuple[int, int] | None, tuple[int, int] | None]:
    acs = find_acs(host, function)
    ats = None if function.is_pci_bridge else Ats.find(host.config(function))
    return (
        None if acs is None else (acs.capability, acs.control),
        None if ats is None else (ats.capability, ats.control),
    )
