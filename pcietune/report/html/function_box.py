"""What one box says of its function."""

from collections.abc import Iterator
from dataclasses import dataclass

from pcietune.model.not_known import NOT_KNOWN
from pcietune.registers.acs import LSPCI_NAMES, AcsControl
from pcietune.registers.express import PortType
from pcietune.report.class_names import class_name
from pcietune.report.html.anchors import of_function
from pcietune.report.port_names import port_name
from pcietune.tune.paths.view import Peer
from pcietune.tune.view.function_registers import AcsRegisters
from pcietune.tune.view.topology import Node

_DECIDING = (PortType.ROOT_PORT, PortType.DOWNSTREAM_PORT)


@dataclass(frozen=True, slots=True)
class Control:
    """One ACS control of a port.

    Attributes:
        text: lspci's name, with + or -.
        on: Whether it is on.
    """

    text: str
    on: bool


@dataclass(frozen=True, slots=True)
class Fold:
    """A virtual function, in one line.

    Attributes:
        anchor: Its id on the page.
        address: Its address.
        text: What else there is to say.
    """

    anchor: str
    address: str
    text: str


@dataclass(frozen=True, slots=True)
class Box:
    """One function.

    Attributes:
        anchor: Its id on the page.
        address: Its address.
        label: As a peer; None if it takes part in no pair.
        kind: For its looks: ``port``, ``switch``, ``gpu``, ``nic``, ``nvme`` or ``other``.
        what: What it is, for people.
        id: Vendor and Device ID.
        facts: Link, driver, group, ATS and whatever is unusual.
        controls: Of ACS those that it is capable of; None without ACS, or if that is not readable.
        lacks: Names of the controls that it is not capable of.
        warnings: Why it is never touched, and what could not be read.
        children: What is below it.
        virtual_functions: Its VFs that stand in its place.
    """

    anchor: str
    address: str
    label: str | None
    kind: str
    what: str
    id: str
    facts: tuple[str, ...]
    controls: tuple[Control, ...] | None
    lacks: tuple[str, ...]
    warnings: tuple[str, ...]
    children: tuple["Box", ...]
    virtual_functions: tuple[Fold, ...]


def function_box(
    node: Node, peer: Peer | None, children: tuple[Box, ...], virtual: tuple[Fold, ...]
) -> Box:
    """Return the box of a function.

    Args:
        node: The function.
        peer: As what it takes part in pairs; None if it does not.
        children: What is below it.
        virtual: Its VFs.
    """
    function, acs = node.function, node.acs
    return Box(
        anchor=of_function(function.address),
        address=str(function.address),
        label=None if peer is None else peer.label,
        kind=_kind(node, peer),
        what=_what(node),
        id=function.id,
        facts=tuple(_facts(node)),
        controls=None if acs is None else tuple(_controls(acs)),
        lacks=() if acs is None else tuple(_lacks(acs)),
        warnings=tuple(_warnings(node)),
        children=children,
        virtual_functions=virtual,
    )


def virtual_function(node: Node) -> Fold:
    """Return a virtual function as a line."""
    address = node.function.address
    return Fold(of_function(address), str(address), ", ".join((*_facts(node), *_warnings(node))))


def _kind(node: Node, peer: Peer | None) -> str:
    if peer is not None:
        return peer.kind
    if node.function.is_pci_bridge:
        return "switch" if node.port_type is PortType.UPSTREAM_PORT else "port"
    return "other"


def _what(node: Node) -> str:
    function = node.function
    if not function.is_pci_bridge:
        name = class_name(function.device_class)
        return name if node.role is None else f"{node.role}, {name}"
    if node.port_type is None:
        return "bridge"
    name = port_name(node.port_type)
    return f"switch, {name}" if node.port_type is PortType.UPSTREAM_PORT else name


def _facts(node: Node) -> Iterator[str]:
    link, driver, state = node.link, node.function.driver, node.state
    if link is not None and link.speed is not None and link.width is not None:
        speed = f"{link.speed.removesuffix(' PCIe')} x{link.width}"
        best = (link.max_speed or link.speed, link.max_width or link.width)
        slow = best != (link.speed, link.width)
        most = f", of {best[0].removesuffix(' PCIe')} x{best[1]}" if slow else ""
        yield f"{speed}{most}"
    if driver is NOT_KNOWN:
        yield "driver not known"
    elif driver != "pcieport":
        yield "no driver" if driver is None else f"driver {driver}"
    if state is not None:
        if state.group is NOT_KNOWN:
            yield "group not known"
        else:
            yield "no group" if state.group is None else f"group {state.group}"
    if node.ats is not None:
        yield f"ATS Enable{'+' if node.ats.enabled else '-'}"
    elif not node.function.is_pci_bridge and node.role is not None and node.problem is None:
        yield "no ATS"
    if node.acs is None and node.port_type in _DECIDING and node.problem is None:
        yield "no ACS"


def _controls(acs: AcsRegisters) -> Iterator[Control]:
    enabled = AcsControl.decode(acs.control)
    for control in _capable(acs):
        on = control in enabled
        yield Control(f"{LSPCI_NAMES[control]}{'+' if on else '-'}", on)


def _lacks(acs: AcsRegisters) -> Iterator[str]:
    capable = _capable(acs)
    return (name for control, name in LSPCI_NAMES.items() if control not in capable)


def _capable(acs: AcsRegisters) -> list[AcsControl]:
    """Return the controls of a port in lspci's order; the capability has them at the same bits."""
    capable = AcsControl.decode(acs.capability)
    return [control for control in LSPCI_NAMES if control in capable]


def _warnings(node: Node) -> Iterator[str]:
    if node.protected is not None:
        yield f"protected: {node.protected}"
    if node.problem is not None:
        yield f"not read: {node.problem}"
