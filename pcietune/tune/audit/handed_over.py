"""Which functions VMs are given, as the profile has it: PFs, or their VFs."""

from collections.abc import Mapping, Sequence

from pcietune.address import PciAddress
from pcietune.errors import PcietuneError
from pcietune.model.access import HostAccess
from pcietune.model.fabric import Fabric
from pcietune.model.function import PciFunction
from pcietune.model.profile import Attach, ModeName
from pcietune.model.role_name import RoleName
from pcietune.model.yardstick import Yardstick

_ROLES = (RoleName.GPU, RoleName.NIC, RoleName.NVSWITCH)


def handed_over(
    host: HostAccess, fabric: Fabric, yardstick: Yardstick, roles: Mapping[PciAddress, RoleName]
) -> list[tuple[PciFunction, RoleName]]:
    """Return the GPUs, NICs and NVSwitches that are handed over, whatever the duty, in order.

    Of a role whose VFs are, those that there are now; of one whose mediated devices are, none.
    """
    found: list[tuple[PciFunction, RoleName]] = []
    for address, role in roles.items():
        if role in _ROLES:
            attach = yardstick.profile.roles[role].attach
            found += [(each, role) for each in _of(host, fabric, fabric.functions[address], attach)]
    return sorted(found, key=lambda each: each[0].address)


def duty_of(fabric: Fabric, yardstick: Yardstick, function: PciFunction) -> ModeName:
    """Return the duty of a function: its switch group's, else the host's."""
    top = fabric.topmost_switch(function)
    return yardstick.mode if top is None else yardstick.mode_of(top.location)


def _of(
    host: HostAccess, fabric: Fabric, function: PciFunction, attach: Attach
) -> Sequence[PciFunction]:
    match attach:
        case Attach.PF:
            return (function,)
        case Attach.MDEV:
            return ()
        case Attach.VF:
            try:
                virtual = host.state(function).virtual_functions
            except PcietuneError:  # it vanished
                return ()
            return [fabric.functions[a] for a in virtual if a in fabric.functions]
