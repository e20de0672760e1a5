"""A fabric as a tree for people, and as JSON."""

from collections.abc import Iterable, Sequence

import msgspec
from rich.markup import escape
from rich.tree import Tree

from pcietune import __version__
from pcietune.model.function import FunctionState, LinkState
from pcietune.registers.acs import lspci_controls
from pcietune.registers.express import PortType
from pcietune.report.json_text import encode
from pcietune.report.printable import printable
from pcietune.tune.topology import Node

SCHEMA = 1

_PORT_NAMES = {
    PortType.ROOT_PORT: "root port",
    PortType.UPSTREAM_PORT: "upstream port",
    PortType.DOWNSTREAM_PORT: "downstream port",
    PortType.PCIE_TO_PCI_BRIDGE: "PCIe-to-PCI bridge",
    PortType.PCI_TO_PCIE_BRIDGE: "PCI-to-PCIe bridge",
}


class NodeDocument(msgspec.Struct, kw_only=True, frozen=True):
    """One function. Words are hex; what is null could not be read or does not exist."""

    path: str
    address: str
    id: str
    class_code: str
    role: str | None
    port_type: str | None
    driver: str | None
    group: int | None
    numa_node: int | None
    link_speed: str | None
    link_width: int | None
    max_link_speed: str | None
    max_link_width: int | None
    acs_capability: str | None
    acs_control: str | None
    acs_bits: list[str] | None
    ats_capability: str | None
    ats_control: str | None
    ats_enabled: bool | None
    problem: str | None
    children: list["NodeDocument"]


class TopologyDocument(msgspec.Struct, kw_only=True, frozen=True):
    """A host's fabric."""

    schema: int
    pcietune: str
    functions: list[NodeDocument]


def topology_document(nodes: Sequence[Node]) -> str:
    """Return the fabric as JSON text."""
    whole = TopologyDocument(
        schema=SCHEMA, pcietune=__version__, functions=[_document(node) for node in nodes]
    )
    return encode(whole)


def plain_lines(nodes: Iterable[Node], depth: int = 0) -> Iterable[str]:
    """Yield the fabric as indented lines."""
    for node in nodes:
        yield f"{'  ' * depth}{label(node)}"
        yield from plain_lines(node.children, depth + 1)


def trees(nodes: Iterable[Node]) -> Iterable[Tree]:
    """Yield a tree for a terminal for each root port."""
    for node in nodes:
        tree = Tree(_shown(node), highlight=True)
        _grow(tree, node)
        yield tree


def label(node: Node) -> str:
    """Return what one line says of a function."""
    function, state = node.function, node.state
    parts = [str(function.address), function.id]
    if node.port_type is not None:
        parts.append(_PORT_NAMES.get(node.port_type, node.port_type.name.lower()))
    if node.role is not None:
        parts.append(node.role)
    elif not function.is_pci_bridge:
        parts.append(f"class {function.device_class:04x}")
    if state is not None:
        parts += [_link(node.link), _numa(state), _group(state)]
    parts.append(f"driver {function.driver}" if function.driver else "no driver")
    if node.acs is not None:
        capability, control = node.acs
        direct = lspci_controls(control)[-1]
        parts.append(f"ACSCap {capability:#06x} ACSCtl {control:#06x} {direct}")
    elif node.port_type in (PortType.ROOT_PORT, PortType.DOWNSTREAM_PORT) and not node.problem:
        parts.append("no ACS")
    if node.ats is not None:
        parts.append(f"ATS Enable{'+' if _enabled(node.ats) else '-'}")
    if node.problem is not None:
        parts.append(f"NOT READ: {node.problem}")
    return "  ".join(part for part in parts if part)


def _grow(tree: Tree, node: Node) -> None:
    for child in node.children:
        _grow(tree.add(_shown(child), highlight=True), child)


def _shown(node: Node) -> str:
    """Return what one line of a terminal's tree says, with nothing that rich takes for markup."""
    return escape(printable(label(node)))


def _link(link: LinkState | None) -> str:
    if link is None or link.speed is None or link.width is None:
        return ""
    return f"{link.speed.removesuffix(' PCIe')} x{link.width}"


def _numa(state: FunctionState) -> str:
    return f"node {state.numa_node}"


def _group(state: FunctionState) -> str:
    return "no group" if state.group is None else f"group {state.group}"


def _enabled(ats: tuple[int, int]) -> bool:
    return bool(ats[1] >> 15)


def _word(word: int) -> str:
    return f"{word:#06x}"


def _document(node: Node) -> NodeDocument:
    function, state, acs, ats = node.function, node.state, node.acs, node.ats
    link = node.link or LinkState(None, None, None, None)
    return NodeDocument(
        path=function.location,
        address=str(function.address),
        id=function.id,
        class_code=f"{function.class_code:06x}",
        role=node.role,
        port_type=None if node.port_type is None else node.port_type.name.lower(),
        driver=function.driver,
        group=None if state is None else state.group,
        numa_node=None if state is None else state.numa_node,
        link_speed=link.speed,
        link_width=link.width,
        max_link_speed=link.max_speed,
        max_link_width=link.max_width,
        acs_capability=None if acs is None else _word(acs[0]),
        acs_control=None if acs is None else _word(acs[1]),
        acs_bits=None if acs is None else list(lspci_controls(acs[1])),
        ats_capability=None if ats is None else _word(ats[0]),
        ats_control=None if ats is None else _word(ats[1]),
        ats_enabled=None if ats is None else _enabled(ats),
        problem=None if node.problem is None else str(node.problem),
        children=[_document(child) for child in node.children],
    )
