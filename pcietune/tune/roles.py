"""Which function has which role: by place first, then by id or class."""

from pcietune.address import PciAddress
from pcietune.errors import PcietuneError
from pcietune.model.access import HostAccess
from pcietune.model.fabric import Fabric
from pcietune.model.function import PciFunction
from pcietune.model.profile import Profile, RoleName, RolePlace

_ORDER = (RoleName.GPU, RoleName.DPU, RoleName.NIC, RoleName.NVSWITCH)  # the first that fits wins


def assign_roles(profile: Profile, fabric: Fabric, host: HostAccess) -> dict[PciAddress, RoleName]:
    """Return the roles of the host's functions; those without one are absent.

    A VF has none of its own: it belongs to its PF.
    """
    roles: dict[PciAddress, RoleName] = {}
    gpu_switches: set[PciAddress] = set()
    for name in _ORDER:
        role = profile.roles.get(name)
        if role is None:
            continue
        for function in fabric.functions.values():
            if function.address in roles or not role.pattern.matches(function):
                continue
            if _is_virtual(host, function):
                continue
            top = fabric.topmost_switch(function)
            if name is RoleName.GPU and top is not None:
                gpu_switches.add(top.address)
            if role.place is RolePlace.GPU_SWITCH and (
                top is None or top.address not in gpu_switches
            ):
                continue
            roles[function.address] = name
    return roles


def _is_virtual(host: HostAccess, function: PciFunction) -> bool:
    try:
        return host.state(function).physical_function is not None
    except PcietuneError:  # it vanished: then it is nobody's NIC
        return True
