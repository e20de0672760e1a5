"""What kinds of ports are called, for people."""

from pcietune.registers.express import PortType

_NAMES = {
    PortType.ROOT_PORT: "root port",
    PortType.UPSTREAM_PORT: "upstream port",
    PortType.DOWNSTREAM_PORT: "downstream port",
    PortType.PCIE_TO_PCI_BRIDGE: "PCIe-to-PCI bridge",
    PortType.PCI_TO_PCIE_BRIDGE: "PCI-to-PCIe bridge",
}


def port_name(kind: PortType) -> str:
    """Return what a bridge of this kind is called."""
    return _NAMES.get(kind, kind.name.lower().replace("_", " "))
