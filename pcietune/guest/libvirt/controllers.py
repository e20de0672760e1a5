"""A plan's bridges as libvirt's controllers.

A controller is named by its index. What another device's address calls its bus is that index, and
no bus number: the VM's firmware gives those (docs/pci-addresses.rst of libvirt).

Chassis and slot are left to libvirt, which makes the index a port's chassis and 0 its slot: a
plan's own could be those of a port that libvirt adds for a disk, and QEMU refuses two that are
alike.
"""

from collections import Counter

from pcietune.guest.devices import Bridge
from pcietune.guest.kinds import BridgeKind
from pcietune.guest.libvirt.element import Element, element
from pcietune.guest.plan import Plan

_MODELS = {
    BridgeKind.EXPANDER: "pcie-expander-bus",
    BridgeKind.ROOT_PORT: "pcie-root-port",
    BridgeKind.UPSTREAM_PORT: "pcie-switch-upstream-port",
    BridgeKind.DOWNSTREAM_PORT: "pcie-switch-downstream-port",
}


def controllers(plan: Plan, first_index: int) -> list[Element]:
    """Return a controller for each bridge, parents first.

    Args:
        plan: The plan.
        first_index: Index of the first; 0 is pcie.0's.
    """
    indexes = controller_indexes(plan, first_index)
    places = Counter((each.parent, each.device) for each in plan.bridges)
    return [
        element("controller", type="pci", index=indexes[each.name], model=_MODELS[each.kind])
        .with_content(
            element("alias", name=alias(each.name)),
            _target(each),
            pci_address(
                indexes[each.parent],
                each.device,
                each.function,
                shared=places[each.parent, each.device] > 1,
            ),
        )
        for each in plan.bridges
    ]  # fmt: skip


def controller_indexes(plan: Plan, first_index: int) -> dict[str, int]:
    """Return the index of each bridge's controller, by its name, and that of ``pcie.0``.

    They follow each other: libvirt fills a gap with root ports of its own (measured with 9.0).
    """
    named = {each.name: first_index + n for n, each in enumerate(plan.bridges)}
    return {"pcie.0": 0} | named


def alias(name: str) -> str:
    """Return the alias of a device, which libvirt makes its id in QEMU.

    Those of users begin with ``ua-`` (docs/formatdomain.rst).
    """
    return f"ua-{name}"


def pci_address(bus: int, slot: int, function: int, *, shared: bool) -> Element:
    """Return where a device sits.

    Args:
        bus: Index of the controller above it.
        slot: Device Number.
        function: Function Number.
        shared: Whether other functions sit in its slot.
    """
    return element(
        "address",
        type="pci",
        domain="0x0000",
        bus=f"{bus:#04x}",
        slot=f"{slot:#04x}",
        function=f"{function:#x}",
        multifunction="on" if shared and function == 0 else None,
    )


def _target(bridge: Bridge) -> Element | None:
    if bridge.kind is BridgeKind.EXPANDER:
        node = None if bridge.cell is None else element("node").with_text(bridge.cell)
        return element("target", busNr=bridge.bus).with_content(node)
    return None
