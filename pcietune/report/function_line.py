"""What one line says of a function of the fabric."""

from collections.abc import Iterator

from pcietune.model.function import FunctionState, LinkState
from pcietune.model.not_known import NOT_KNOWN, NotKnown
from pcietune.registers.acs import AcsEnhancedControls, lspci_controls
from pcietune.registers.express import PortType
from pcietune.report.port_names import port_name
from pcietune.tune.view.function_registers import AcsRegisters, AtsRegisters
from pcietune.tune.view.topology import Node

_CLASS_NOT_TOLD = 0xFFFF  # as of what lspci -t draws alone


def function_line(node: Node) -> str:
    """Return the line, without a line break."""
    function, state = node.function, node.state
    parts = [str(function.address), function.id]
    if function.is_pci_bridge:
        parts.append(_port(node.port_type))
    if node.role is not None:
        parts.append(node.role)
    elif not function.is_pci_bridge:
        told = function.device_class != _CLASS_NOT_TOLD
        parts.append(f"class {function.device_class:04x}" if told else "class not known")
    if state is not None:
        parts += [_link(node.link), _numa(state), _group(state)]
    parts.append(_driver(function.driver))
    if node.acs is not None:
        parts.append(_acs(node.acs))
    elif node.port_type in (PortType.ROOT_PORT, PortType.DOWNSTREAM_PORT) and not node.problem:
        parts.append("no ACS")
    if node.ats is not None:
        parts.append(_ats(node.ats))
    if node.sriov is not None:
        parts.append(f"VFs {node.sriov.enabled_vfs} of {node.sriov.total_vfs}")
    return "  ".join(part for part in (*parts, *_remarks(node)) if part)


def _remarks(node: Node) -> Iterator[str]:
    if node.protected is not None:
        yield f"PROTECTED: {node.protected}"
    if node.problem is not None:
        yield f"NOT READ: {node.problem}"


def _port(port_type: PortType | None) -> str:
    if port_type is None:
        return "bridge"
    return port_name(port_type)


def _link(link: LinkState | None) -> str:
    if link is None or link.speed is None or link.width is None:
        return ""
    return f"{link.speed.removesuffix(' PCIe')} x{link.width}"


def _numa(state: FunctionState) -> str:
    return "" if state.numa_node is None else f"node {state.numa_node}"


def _group(state: FunctionState) -> str:
    if state.group is NOT_KNOWN:
        return "group not known"
    return "no group" if state.group is None else f"group {state.group}"


def _driver(driver: str | NotKnown | None) -> str:
    if driver is NOT_KNOWN:
        return "driver not known"
    return "no driver" if driver is None else f"driver {driver}"


def _acs(acs: AcsRegisters) -> str:
    if acs.in_part:
        return f"{_in_part('ACSCap', acs.capability)} {_in_part('ACSCtl', acs.control)}"
    direct = lspci_controls(acs.control)[-1]
    parts = [f"ACSCap {acs.capability:#06x} ACSCtl {acs.control:#06x} {direct}"]
    if acs.enhanced is not None:
        parts.append(_enhanced(acs.enhanced))
    if acs.egress_vector_size is not None:
        parts.append(f"EgressVectorSize {acs.egress_vector_size}")
    return " ".join(parts)


def _in_part(register: str, word: int) -> str:
    """Return what is known of a word of which a text names bits 6:0: those that are set."""
    on = [name.removesuffix("+") for name in lspci_controls(word) if name.endswith("+")]
    return f"{register} {'+'.join(on)}+" if on else f"{register} none of bits 6:0"


def _enhanced(controls: AcsEnhancedControls) -> str:
    """Return what lspci has no names for, by the specification's."""
    return (
        f"IORequestBlocking{_sign(on=controls.io_request_blocking)} "
        f"DSPMemoryTargetAccess {controls.dsp_memory_target_access.name.lower()} "
        f"USPMemoryTargetAccess {controls.usp_memory_target_access.name.lower()} "
        f"UnclaimedRequestRedirect{_sign(on=controls.unclaimed_request_redirect)}"
    )


def _ats(ats: AtsRegisters) -> str:
    parts = [
        f"ATS Enable{_sign(on=ats.enabled)}",
    ]
    if ats.page_aligned_request is not None:
        parts.append(f"PageAligned{_sign(on=ats.page_aligned_request)}")
    if ats.global_invalidate is not None:
        parts.append(f"GlobalInvalidate{_sign(on=ats.global_invalidate)}")
    if ats.invalidate_queue_depth is not None:
        parts.append(f"QueueDepth {ats.invalidate_queue_depth}")
    if ats.smallest_translation_unit is not None:
        parts.append(f"STU {ats.smallest_translation_unit}")
    return " ".join(parts)


def _sign(*, on: bool) -> str:
    return "+" if on else "-"
