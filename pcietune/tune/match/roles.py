"""Which function has which role: by place first, then by id or class."""

from pcietune.address import PciAddress
from pcietune.errors import PcietuneError
from pcietune.model.access import HostAccess
from pcietune.model.fabric import Fabric
from pcietune.model.profile import Profile, RolePlace
from pcietune.model.role_name import RoleName

_ORDER = (RoleName.GPU, RoleName.DPU, RoleName.NIC, RoleName.NVSWITCH)  # the first that fits wins


def assign_roles(profile: Profile, fabric: Fabric, host: HostAccess) -> dict[PciAddress, RoleName]:
    """Return the roles of the host's functions; those without one are absent.

    A VF has none of its own: it belongs to its PF. A bridge has none either, though ``15b3:*`` fits
    those within a BlueField.
    """
    roles: dict[PciAddress, RoleName] = {}
    gpu_switches: set[PciAddress] = set()
    left_out = _left_out(profile, fabric, host)
    for name in _ORDER:
        role = profile.roles.get(name)
        if role is None:
            continue
        for function in fabric.functions.values():
            if function.address in roles or function.address in left_out:
                continue
            if not role.pattern.matches(function):
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


def _left_out(profile: Profile, fabric: Fabric, host: HostAccess) -> set[PciAddress]:
    """Return which functions are VFs, bridges or gone, of those that any role's pattern fits.

    A PF names its VFs and comes before them, so its scores of VFs are not looked at one by one.
    """
    found: set[PciAddress] = set()
    for function in fabric.functions.values():
        if function.address in found:
            continue
        if not any(role.pattern.matches(function) for role in profile.roles.values()):
            continue
        if function.is_pci_bridge:
            found.add(function.address)
            continue
        try:
            state = host.state(function)
        except PcietuneError:  # it vanished: then it is nobody's NIC
            found.add(function.address)
            continue
        found.update(state.virtual_functions)
        if state.physical_function is not None:
            found.add(function.address)
    return found
