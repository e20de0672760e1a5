"""Which function is in which mode: its switch group's, else the host's."""

from collections.abc import Mapping, Sequence

from pcietune.address import PciAddress
from pcietune.model.profile import ModeName
from pcietune.model.role_name import RoleName
from pcietune.model.switch_group import SwitchGroup
from pcietune.model.yardstick import Yardstick


def modes_of(
    yardstick: Yardstick, roles: Mapping[PciAddress, RoleName], groups: Sequence[SwitchGroup]
) -> dict[PciAddress, ModeName]:
    """Return the mode of each function that has a role."""
    modes = dict.fromkeys(roles, yardstick.mode)
    for group in groups:
        of_group = (f.address for f in (*group.gpus, *group.nics))
        modes |= dict.fromkeys(of_group, yardstick.mode_of(group.name))
    return modes


def on_bare_metal(
    yardstick: Yardstick, roles: Mapping[PciAddress, RoleName], groups: Sequence[SwitchGroup]
) -> list[PciAddress]:
    """Return the functions that this host itself uses."""
    modes = modes_of(yardstick, roles, groups)
    return [address for address, mode in modes.items() if mode is ModeName.BAREMETAL]


def serving_vms(
    yardstick: Yardstick, roles: Mapping[PciAddress, RoleName], groups: Sequence[SwitchGroup]
) -> dict[PciAddress, RoleName]:
    """Return the roles of what VMs may be given."""
    modes = modes_of(yardstick, roles, groups)
    return {
        address: role
        for address, role in roles.items()
        if role is not RoleName.DPU and modes[address] is ModeName.VM
    }
