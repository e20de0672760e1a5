"""Look at a host's fabric: which functions there are, what kind the ports above them are."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

from pcietune.address import PciAddress
from pcietune.errors import PcietuneError
from pcietune.model.access import HostAccess
from pcietune.model.fabric import Fabric
from pcietune.model.function import PciFunction
from pcietune.model.profile import Profile
from pcietune.model.role_name import RoleName
from pcietune.registers.express import Express, PortType

_DISPLAY_VGA = 0x0300
_DISPLAY_3D = 0x0302
_DISPLAY_OTHER = 0x0380
_PROCESSING_ACCELERATOR = 0x1200
_NVIDIA, _AMD = 0x10DE, 0x1002
_GPU_VENDORS = {
    _DISPLAY_VGA: (_NVIDIA, _AMD),  # a BMC's VGA is no GPU
    _DISPLAY_OTHER: (_AMD,),  # Instinct MI50 to MI200
}


def is_gpu(function: PciFunction) -> bool:
    """Return whether ``function`` is a GPU or alike, whatever any profile says."""
    device_class = function.device_class
    return device_class in (_DISPLAY_3D, _PROCESSING_ACCELERATOR) or (
        function.vendor in _GPU_VENDORS.get(device_class, ())
    )


def concerned(functions: Iterable[PciFunction], profiles: Sequence[Profile]) -> list[PciFunction]:
    """Return the functions that a profile may have in a switch group.

    They stand below a root port that carries both a GPU and a NIC, by anybody's reckoning; the
    ports above all others are nothing that a requirement is about, so they are not read.
    """

    def fits(function: PciFunction, name: RoleName) -> bool:
        roles = (profile.roles.get(name) for profile in profiles)
        return any(role is not None and role.pattern.matches(function) for role in roles)

    below = [function for function in functions if function.ports and not function.is_pci_bridge]
    gpus = [function for function in below if fits(function, RoleName.GPU)]
    nics = [function for function in below if fits(function, RoleName.NIC)]
    roots = {f.ports[0] for f in gpus} & {f.ports[0] for f in nics}
    return [function for function in (*gpus, *nics) if function.ports[0] in roots]


def survey(
    host: HostAccess, choose: Callable[[Sequence[PciFunction]], Iterable[PciFunction]]
) -> Fabric:
    """Return the host's fabric, with the port types of the bridges above the functions chosen.

    Only those bridges' registers are read. One that cannot be read keeps no port type here; what
    is judged of it later says why.
    """
    functions = host.functions()
    by_address = {function.address: function for function in functions}
    bridges = {port for function in choose(functions) for port in function.ports}
    port_types: dict[PciAddress, PortType] = {}
    for address in sorted(bridges & by_address.keys()):
        port_type = _port_type(host, by_address[address])
        if port_type is not None:
            port_types[address] = port_type
    return Fabric(functions, port_types)


def _port_type(host: HostAccess, bridge: PciFunction) -> PortType | None:
    with suppress(PcietuneError):
        express = Express.find(host.config(bridge))
        return None if express is None else express.port_type
    return None
