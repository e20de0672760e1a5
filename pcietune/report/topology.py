"""A fabric as a tree for people, and as JSON."""

from collections.abc import Iterable, Sequence

import msgspec
from rich.markup import escape
from rich.tree import Tree

from pcietune import __version__
from pcietune.model.function import LinkState
from pcietune.model.not_known import NOT_KNOWN
from pcietune.registers.acs import AcsEnhancedControls, lspci_controls
from pcietune.report.function_line import function_line
from pcietune.report.json_text import encode
from pcietune.report.printable import printable
from pcietune.tune.view.function_registers import AcsRegisters, AtsRegisters, SrIovRegisters
from pcietune.tune.view.topology import Node

SCHEMA = 1


class NodeDocument(msgspec.Struct, kw_only=True):
    """One function; docs/json.md explains each key.

    Words are hex; what is null could not be read or does not exist.
    """

    path: str
    address: str
    id: str
    class_code: str
    role: str | None
    protected: str | None
    port_type: str | None
    driver: str | None
    group: int | None
    numa_node: int | None
    not_known: list[str]
    link_speed: str | None
    link_width: int | None
    max_link_speed: str | None
    max_link_width: int | None
    acs_capability: str | None = None
    acs_control: str | None = None
    acs_bits: list[str] | None = None
    acs_egress_vector_size: int | None = None
    acs_io_request_blocking: bool | None = None
    acs_dsp_memory_target_access: str | None = None
    acs_usp_memory_target_access: str | None = None
    acs_unclaimed_request_redirect: bool | None = None
    ats_capability: str | None = None
    ats_control: str | None = None
    ats_enabled: bool | None = None
    ats_page_aligned_request: bool | None = None
    ats_global_invalidate: bool | None = None
    ats_relaxed_ordering: bool | None = None
    ats_invalidate_queue_depth: int | None = None
    ats_smallest_translation_unit: int | None = None
    sriov_total_vfs: int | None = None
    sriov_enabled_vfs: int | None = None
    sriov_vf_device_id: str | None = None
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
        yield f"{'  ' * depth}{function_line(node)}"
        yield from plain_lines(node.children, depth + 1)


def trees(nodes: Iterable[Node]) -> Iterable[Tree]:
    """Yield a tree for a terminal for each root port."""
    for node in nodes:
        tree = Tree(_shown(node), highlight=True)
        _grow(tree, node)
        yield tree


def _grow(tree: Tree, node: Node) -> None:
    for child in node.children:
        _grow(tree.add(_shown(child), highlight=True), child)


def _shown(node: Node) -> str:
    """Return what one line of a terminal's tree says, with nothing that rich takes for markup."""
    return escape(printable(function_line(node)))


def _document(node: Node) -> NodeDocument:
    function, state = node.function, node.state
    link = node.link or LinkState(None, None, None, None)
    document = NodeDocument(
        path=function.location,
        address=str(function.address),
        id=function.id,
        class_code=f"{function.class_code:06x}",
        role=node.role,
        protected=node.protected,
        port_type=None if node.port_type is None else node.port_type.name.lower(),
        driver=None if function.driver is NOT_KNOWN else function.driver,
        group=None if state is None or state.group is NOT_KNOWN else state.group,
        numa_node=None if state is None else state.numa_node,
        not_known=_not_known(node),
        link_speed=link.speed,
        link_width=link.width,
        max_link_speed=link.max_speed,
        max_link_width=link.max_width,
        problem=None if node.problem is None else str(node.problem),
        children=[_document(child) for child in node.children],
    )
    if node.acs is not None:
        _fill_acs(document, node.acs)
    if node.ats is not None:
        _fill_ats(document, node.ats)
    if node.sriov is not None:
        _fill_sriov(document, node.sriov)
    return document


def _not_known(node: Node) -> list[str]:
    """Return which of driver, group and numa_node are null since nobody tells them."""
    state = node.state
    told = {
        "driver": node.function.driver is not NOT_KNOWN,
        "group": state is not None and state.group is not NOT_KNOWN,
        "numa_node": state is not None and state.numa_node is not None,
        "acs_enhanced": node.acs is None or not node.acs.in_part,
        "ats_page_aligned_request": node.ats is None or node.ats.page_aligned_request is not None,
    }
    return [name for name, known in told.items() if not known]


def _fill_acs(document: NodeDocument, acs: AcsRegisters) -> None:
    if not acs.in_part:
        document.acs_capability = _word(acs.capability)
        document.acs_control = _word(acs.control)
    document.acs_bits = list(lspci_controls(acs.control))
    document.acs_egress_vector_size = acs.egress_vector_size
    if acs.enhanced is not None:
        _fill_enhanced(document, acs.enhanced)


def _fill_enhanced(document: NodeDocument, controls: AcsEnhancedControls) -> None:
    document.acs_io_request_blocking = controls.io_request_blocking
    document.acs_dsp_memory_target_access = controls.dsp_memory_target_access.name.lower()
    document.acs_usp_memory_target_access = controls.usp_memory_target_access.name.lower()
    document.acs_unclaimed_request_redirect = controls.unclaimed_request_redirect


def _fill_ats(document: NodeDocument, ats: AtsRegisters) -> None:
    if ats.page_aligned_request is not None:
        document.ats_capability = _word(ats.capability)
    document.ats_control = _word(ats.control)
    document.ats_enabled = ats.enabled
    document.ats_page_aligned_request = ats.page_aligned_request
    document.ats_global_invalidate = ats.global_invalidate
    document.ats_relaxed_ordering = ats.relaxed_ordering
    document.ats_invalidate_queue_depth = ats.invalidate_queue_depth
    document.ats_smallest_translation_unit = ats.smallest_translation_unit


def _fill_sriov(document: NodeDocument, sriov: SrIovRegisters) -> None:
    document.sriov_total_vfs = sriov.total_vfs
    document.sriov_enabled_vfs = sriov.enabled_vfs
    document.sriov_vf_device_id = _word(sriov.vf_device_id)


def _word(word: int) -> str:
    return f"{word:#06x}"
