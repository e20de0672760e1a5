"""Describe a host's fabric, function by function: what ``topo`` shows."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pcietune.address import PciAddress
from pcietune.errors import ExitCode, PcietuneError
from pcietune.model.access import HostAccess
from pcietune.model.fabric import Fabric
from pcietune.model.function import FunctionState, LinkState, PciFunction
from pcietune.model.role_name import RoleName
from pcietune.registers.ats import Ats
from pcietune.registers.express import Express, Link, PortType
from pcietune.registers.sriov import SrIov
from pcietune.tune.port_acs import find_acs
from pcietune.tune.view.function_registers import AcsRegisters, AtsRegisters, SrIovRegisters


@dataclass(frozen=True, slots=True)
class Node:
    """One function and what is below it.

    Attributes:
        function: The function.
        role: None if it has none.
        protected: Why it is never touched; None if it may be.
        state: None if the function vanished meanwhile.
        port_type: Device/Port Type as its register says; None of a conventional PCI function, of
            a code that is not known, or if unreadable.
        link: None if unreadable.
        acs: None without the capability, or if unreadable.
        ats: None alike.
        sriov: None alike.
        problem: What kept a register from being read; None if all could be.
        children: In the order of addresses.
    """

    function: PciFunction
    role: RoleName | None
    protected: str | None
    state: FunctionState | None
    port_type: PortType | None
    link: LinkState | None
    acs: AcsRegisters | None
    ats: AtsRegisters | None
    sriov: SrIovRegisters | None
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
    protected: Mapping[PciAddress, str],
) -> tuple[Node, ...]:
    """Return the trees below the host's root ports, and below bridges that are not known.

    Args:
        host: Where registers and states come from.
        fabric: The functions.
        roles: Which function has which role.
        everything: Whether to show functions that have no role and nothing below that has.
        protected: Which functions are never touched, and why; those are shown, too, that share a
            root port with one that has a role.
    """
    shown = set(fabric.functions)
    if not everything and roles:
        roots = {port for a in roles for port in fabric.functions[a].ports[:1]}
        beside = {a for a in protected if roots & set(fabric.functions[a].ports[:1])}
        named = beside.union(roles)
        shown = named | {port for a in named for port in fabric.functions[a].ports}
    known = fabric.functions
    tops = [f for f in known.values() if not f.ports or f.ports[-1] not in known]
    return tuple(_nodes(host, fabric, _Named(roles, protected), shown, tops))


@dataclass(frozen=True, slots=True)
class _Named:
    """What is said of functions by address: roles, and reasons not to touch them."""

    roles: Mapping[PciAddress, RoleName]
    protected: Mapping[PciAddress, str]


def _nodes(
    host: HostAccess,
    fabric: Fabric,
    named: _Named,
    shown: set[PciAddress],
    functions: Iterable[PciFunction],
) -> Iterable[Node]:
    for function in functions:
        if function.address not in shown:
            continue
        children = _nodes(host, fabric, named, shown, fabric.children(function))
        yield _node(host, function, named, tuple(children))


def _node(
    host: HostAccess, function: PciFunction, named: _Named, children: tuple[Node, ...]
) -> Node:
    """Describe one function; what cannot be read hides what is read after it.

    Configuration Space is opened before the link is asked for: it refuses a function in D3cold,
    which the kernel would power up to tell its link.
    """
    state: FunctionState | None = None
    port_type: PortType | None = None
    link: LinkState | None = None
    acs: AcsRegisters | None = None
    ats: AtsRegisters | None = None
    sriov: SrIovRegisters | None = None
    problem: PcietuneError | None = None
    try:
        state = host.state(function)
        virtual = state.physical_function is not None
        config = host.config(function)
        express = Express.find(config)
        port_type = None if express is None else express.port_type
        link = host.link(function) if virtual else _link(host.link(function), express)
        acs = AcsRegisters.read(find_acs(host, function))
        ats = AtsRegisters.read(Ats.find(config), virtual=virtual)
        sriov = SrIovRegisters.read(SrIov.find(config))
    except PcietuneError as error:
        problem = error
    return Node(
        function=function,
        role=named.roles.get(function.address),
        protected=named.protected.get(function.address),
        state=state,
        port_type=port_type,
        link=link,
        acs=acs,
        ats=ats,
        sriov=sriov,
        problem=problem,
        children=children,
    )


def _link(told: LinkState, express: Express | None) -> LinkState:
    """Return the link as sysfs told it; what it did not know (a new speed) as the registers say."""
    if express is None or all((told.speed, told.width, told.max_speed, told.max_width)):
        return told
    return LinkState(
        speed=told.speed or _speed(express.link),
        width=told.width or express.link.lanes or None,
        max_speed=told.max_speed or _speed(express.link_capable),
        max_width=told.max_width or express.link_capable.lanes or None,
    )


def _speed(link: Link) -> str | None:
    """Return the speed as sysfs would print it."""
    return None if link.speed is None else f"{link.speed} GT/s PCIe"
