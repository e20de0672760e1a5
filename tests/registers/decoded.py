"""What pcietune makes of a function's bytes, in the form in which lspci describes it."""

from registers.lspci_text import (
    Bits,
    Described,
    DeviceControl,
    Link,
    TranslationService,
    VirtualFunctions,
)

from pcietune.address import PciAddress
from pcietune.errors import ConfigSpaceError
from pcietune.registers.acs import LSPCI_NAMES, Acs, AcsControl
from pcietune.registers.ats import Ats
from pcietune.registers.capability_list import capabilities, extended_capabilities
from pcietune.registers.config_space import CONVENTIONAL_SIZE, ConfigBytes
from pcietune.registers.device_control import DeviceControl as DeviceControlRegisters
from pcietune.registers.express import Express, PortType
from pcietune.registers.express import Link as ExpressLink
from pcietune.registers.sriov import SrIov

_PORT_TYPES = {
    PortType.ENDPOINT: "Endpoint",
    PortType.LEGACY_ENDPOINT: "Legacy Endpoint",
    PortType.ROOT_PORT: "Root Port",
    PortType.UPSTREAM_PORT: "Upstream Port",
    PortType.DOWNSTREAM_PORT: "Downstream Port",
    PortType.PCIE_TO_PCI_BRIDGE: "PCI-Express to PCI/PCI-X Bridge",
    PortType.PCI_TO_PCIE_BRIDGE: "PCI/PCI-X to PCI-Express Bridge",
    PortType.RC_INTEGRATED_ENDPOINT: "Root Complex Integrated Endpoint",
    PortType.RC_EVENT_COLLECTOR: "Root Complex Event Collector",
}
_WITHOUT_LINK = {PortType.RC_INTEGRATED_ENDPOINT, PortType.RC_EVENT_COLLECTOR}


def decode(address: PciAddress, data: bytes) -> Described | None:
    """Return what the function's registers say; None for all ones or a broken list.

    lspci does not complain that Extended Configuration Space is missing, so neither does this.
    """
    config = ConfigBytes(address, data)
    reachable = config.size > CONVENTIONAL_SIZE
    try:
        conventional = capabilities(config)
        extended = extended_capabilities(config) if reachable else []
    except ConfigSpaceError:
        return None
    express = Express.find(config)
    linked = express if express and express.port_type not in _WITHOUT_LINK else None
    return Described(
        capabilities=tuple(found.offset for found in conventional),
        extended=tuple((found.offset, found.version) for found in extended),
        port_type=_port_type(express),
        device_control=_device_control(DeviceControlRegisters.find(config)),
        link_capable=_link(linked.link_capable) if linked else None,
        link=_link(linked.link) if linked else None,
        target_speed=_target_speed(config, linked) if linked else None,
        acs=_acs(Acs.find(config)) if reachable else None,
        ats=_ats(Ats.find(config)) if reachable else None,
        virtual_functions=_virtual_functions(SrIov.find(config)) if reachable else None,
    )


def _port_type(express: Express | None) -> str | None:
    if express is None or express.port_type is None:
        return None
    return _PORT_TYPES[express.port_type]


def _device_control(device: DeviceControlRegisters | None) -> DeviceControl | None:
    if device is None:
        return None
    return DeviceControl(device.max_payload_supported, device.max_payload, device.relaxed_ordering)


def _link(link: ExpressLink) -> Link:
    return Link(link.speed, link.lanes)


def _target_speed(config: ConfigBytes, express: Express) -> float | None:
    """Return it in GT/s; lspci takes none for 2.5, and looks at 00.0 of all endpoints only."""
    endpoint = express.port_type in (PortType.ENDPOINT, PortType.LEGACY_ENDPOINT)
    first = (config.address.device, config.address.function) == (0, 0)
    version = config.read(express.offset + 2, 2) & 0xF
    if version < 2 or (endpoint and not first):
        return None
    return ExpressLink(express.target_speed or 1).speed


def _acs(acs: Acs | None) -> Bits | None:
    return None if acs is None else Bits(_names(acs.supported), _names(acs.enabled))


def _names(controls: AcsControl) -> frozenset[str]:
    return frozenset(LSPCI_NAMES[control] for control in controls)


def _ats(ats: Ats | None) -> TranslationService | None:
    if ats is None:
        return None
    return TranslationService(
        ats.invalidate_queue_depth, ats.enabled, ats.smallest_translation_unit
    )


def _virtual_functions(sriov: SrIov | None) -> VirtualFunctions | None:
    if sriov is None:
        return None
    return VirtualFunctions(sriov.enabled, sriov.total, sriov.count, sriov.vf_device_id)
