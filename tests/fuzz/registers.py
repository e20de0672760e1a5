"""Any bytes as one function's Configuration Space: read as the specification reads them."""

from collections.abc import Callable, Iterable

from fuzz import specification
from fuzz.specification import UnreadableError
from fuzz.target import Target
from trees.config import PCIE_TO_PCI_BRIDGE, ROOT_PORT, ConfigBuilder
from trees.dump import one_switch_functions

from pcietune.address import PciAddress
from pcietune.errors import PcietuneError
from pcietune.registers.acs import Acs
from pcietune.registers.ats import Ats
from pcietune.registers.capability_list import (
    CapabilityId,
    capabilities,
    extended_capabilities,
    find_capability,
)
from pcietune.registers.config_space import ConfigBytes, ConfigSpace
from pcietune.registers.device_control import DeviceControl
from pcietune.registers.express import Express
from pcietune.registers.sriov import SrIov

_ADDRESS = PciAddress.parse("0000:20:01.0")
_UNREADABLE = "unreadable"


def look(data: bytes) -> None:
    """Hold each reading against the specification's; what no one can read, neither may."""
    for ours, theirs in (
        (lambda config: _offset(find_capability(config, CapabilityId.PCI_EXPRESS)), _express),
        (_acs, specification.acs),
        (_ats, specification.ats_enabled),
        (_device_control, specification.device_control),
    ):
        assert _ours(ours, data) == _theirs(theirs, data)
    for whatever in (_express_fields, _sriov_fields, capabilities, extended_capabilities):
        _ours(whatever, data)


def seeds() -> Iterable[bytes]:
    """Yield functions of a GPU server, and what is rare among them."""
    for function in one_switch_functions():
        yield function.config.build().rstrip(b"\0")
        yield function.config.build()[:256]
    bridge = ConfigBuilder("8086:0001", 0x060400).express(PCIE_TO_PCI_BRIDGE)
    yield bridge.acs(0x005F, 0x001D, at=0x120).put(0x100, b"\x01\x00\x01\x12").build()[:512]
    virtual = ConfigBuilder("15b3:101b", 0x020700).express(0)
    yield virtual.sriov(total=8, enabled=2, vf_device=0x101C).ats(0x0020, 0x8000).build()[:512]
    yield ConfigBuilder("8086:0002", 0x060400).express(ROOT_PORT).all_ones().build()[:512]


def _ours(read: Callable[[ConfigSpace], object], data: bytes) -> object:
    try:
        return read(ConfigBytes(_ADDRESS, data))
    except PcietuneError:
        return _UNREADABLE


def _theirs(read: Callable[[bytes], object], data: bytes) -> object:
    try:
        return read(data)
    except UnreadableError:
        return _UNREADABLE


def _express(data: bytes) -> int | None:
    return specification.capability(data, specification.EXPRESS)


def _acs(config: ConfigSpace) -> tuple[int, int] | None:
    acs = Acs.find(config)
    return None if acs is None else (acs.capability, acs.control)


def _ats(config: ConfigSpace) -> bool:
    ats = Ats.find(config)
    return ats is not None and ats.enabled


def _device_control(config: ConfigSpace) -> int | str:
    device = DeviceControl.find(config)
    return _UNREADABLE if device is None else device.control


def _offset(found: object) -> int | None:
    return getattr(found, "offset", None)


def _express_fields(config: ConfigSpace) -> None:
    express = Express.find(config)
    if express is not None:
        _ = express.port_type, express.link, express.link_capable, express.target_speed


def _sriov_fields(config: ConfigSpace) -> None:
    sriov = SrIov.find(config)
    if sriov is not None:
        _ = sriov.enabled, sriov.total, sriov.count, sriov.routing_id(0x2400, 3)


TARGET = Target(look, seeds, longest=4096)
