"""Which functions VFIO is to get: those that the profile names, or those that somebody typed."""

from collections.abc import Iterable, Sequence

from pcietune.address import PciAddress
from pcietune.errors import BadInputError, PcietuneError
from pcietune.model.access import HostAccess
from pcietune.model.function import PciFunction
from pcietune.model.profile import Attach, ModeName
from pcietune.model.role_name import RoleName
from pcietune.model.vfio import VfioPolicy
from pcietune.tune.audit.audit import Audit

_HANDED_OVER = (RoleName.GPU, RoleName.NIC, RoleName.NVSWITCH)


def duty_of(audited: Audit, function: PciFunction) -> ModeName:
    """Return the duty of a function: its switch group's, else the host's."""
    top = audited.fabric.topmost_switch(function)
    return audited.mode if top is None else audited.yardstick.mode_of(top.location)


def policy_of(audited: Audit, function: PciFunction) -> VfioPolicy:
    """Return what is handed to VFIO in a function's duty."""
    return audited.yardstick.vfio_of(duty_of(audited, function))


def wanted(host: HostAccess, audited: Audit) -> list[PciFunction]:
    """Return the functions that ``vfio.bind`` names, in the order of addresses."""
    return [
        function
        for function in everything(host, audited)
        if policy_of(audited, function).binds(role_of(host, audited, function) or RoleName.DPU)
    ]


def everything(host: HostAccess, audited: Audit) -> list[PciFunction]:
    """Return what could be handed over: GPUs, NICs or their VFs, and NVSwitches.

    Only where their duty is to serve VMs; and no function that is protected, which has no role.
    """
    found: list[PciFunction] = []
    for address, role in sorted(audited.roles.items()):
        function = audited.fabric.functions[address]
        if role in _HANDED_OVER and duty_of(audited, function) is ModeName.VM:
            found += _handed_over(host, audited, function, audited.profile.roles[role].attach)
    return sorted(found, key=lambda each: each.address)


def named(audited: Audit, names: Iterable[str]) -> list[PciFunction]:
    """Return the functions of these addresses or locations.

    Raises:
        BadInputError: There is no such function.
    """
    by_location = {f.location: f for f in audited.fabric.functions.values()}
    found = {}
    for name in names:
        function = by_location.get(name)
        if function is None:
            function = audited.fabric.functions.get(PciAddress.parse(name))
        if function is None:
            raise BadInputError(
                f"there is no function {name} on this host", hint="pcietune topo --all lists them"
            )
        found[function.address] = function
    return [function for _, function in sorted(found.items())]


def role_of(host: HostAccess, audited: Audit, function: PciFunction) -> RoleName | None:
    """Return a function's role, a VF's by its PF; None if it has none."""
    role = audited.roles.get(function.address)
    if role is not None:
        return role
    try:
        physical = host.state(function).physical_function
    except PcietuneError:  # it vanished
        return None
    return None if physical is None else audited.roles.get(physical)


def _handed_over(
    host: HostAccess, audited: Audit, function: PciFunction, attach: Attach
) -> Sequence[PciFunction]:
    match attach:
        case Attach.PF:
            return (function,)
        case Attach.MDEV:
            return ()
        case Attach.VF:
            try:
                virtual = host.state(function).virtual_functions
            except PcietuneError:
                return ()
            functions = audited.fabric.functions
            return [functions[address] for address in virtual if address in functions]
