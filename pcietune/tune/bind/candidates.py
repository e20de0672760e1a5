"""Which functions VFIO is to get: those that the profile names, or those that somebody typed."""

from collections.abc import Iterable

from pcietune.address import PciAddress
from pcietune.errors import BadInputError, PcietuneError
from pcietune.model.access import HostAccess
from pcietune.model.function import PciFunction
from pcietune.model.profile import ModeName
from pcietune.model.role_name import RoleName
from pcietune.model.vfio import VfioPolicy
from pcietune.tune.audit.audit import Audit
from pcietune.tune.audit.handed_over import duty_of, handed_over


def policy_of(audited: Audit, function: PciFunction) -> VfioPolicy:
    """Return what is handed to VFIO in a function's duty."""
    return audited.yardstick.vfio_of(duty_of(audited.fabric, audited.yardstick, function))


def everything(host: HostAccess, audited: Audit) -> list[PciFunction]:
    """Return what VMs may be given, whatever the duty, in order; nothing that is protected."""
    return [function for function, _ in _handed_over(host, audited)]


def serving(host: HostAccess, audited: Audit) -> list[PciFunction]:
    """Return all of it whose duty is to serve VMs, but for NVSwitches that the host keeps."""
    return [
        function
        for function, role in _handed_over(host, audited)
        if duty_of(audited.fabric, audited.yardstick, function) is ModeName.VM
        and policy_of(audited, function).may_bind(role)
    ]


def wanted(host: HostAccess, audited: Audit) -> list[PciFunction]:
    """Return the functions that ``vfio.bind`` names, in the order of addresses."""
    return [
        function
        for function, role in _handed_over(host, audited)
        if policy_of(audited, function).binds(role)
    ]


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


def _handed_over(host: HostAccess, audited: Audit) -> list[tuple[PciFunction, RoleName]]:
    return handed_over(host, audited.fabric, audited.yardstick, audited.roles)
