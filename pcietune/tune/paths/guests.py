"""Which functions VMs are given, by the host's duty."""

from collections.abc import Iterable, Mapping

from pcietune.address import PciAddress
from pcietune.model.function import FunctionState, PciFunction
from pcietune.model.profile import Attach, ModeName
from pcietune.model.role_name import RoleName
from pcietune.tune.audit.audit import Audit
from pcietune.tune.audit.duties import serving_vms
from pcietune.tune.paths.view import PeerKind


def guests_of(
    physical: Iterable[tuple[PciFunction, PeerKind, FunctionState | None]],
    roles: Mapping[PciAddress, RoleName],
    audited: Audit | None,
    mode: ModeName | None,
) -> frozenset[PciAddress]:
    """Return the functions that VMs are given, beside those that VFIO has.

    Of a PF that has VFs those are given, and itself only where the profile says so.

    Args:
        physical: The functions that take part in pairs, but VFs, with what sysfs says of each.
        roles: Which function has which role; empty where no profile describes the host, so that
            every GPU and NIC may be given.
        audited: The host, judged; None where it is not.
        mode: The host's duty; None if it is not known.
    """
    given: set[PciAddress] = set()
    serving = None if audited is None else _serving(audited)
    whole = audited is not None and _gives_whole(audited)
    for function, kind, state in physical:
        if serving is not None:
            serves = function.address in serving
        elif roles:
            serves = mode is ModeName.VM and function.address in roles
        else:
            serves = mode is ModeName.VM and kind is not PeerKind.NVME
        if not serves:
            continue
        virtual = () if state is None else state.virtual_functions
        given.update(virtual)
        if not virtual or whole or kind is PeerKind.GPU:
            given.add(function.address)
    return frozenset(given)


def _serving(audited: Audit) -> frozenset[PciAddress]:
    return frozenset(serving_vms(audited.yardstick, audited.roles, audited.groups))


def _gives_whole(audited: Audit) -> bool:
    """Return whether NICs are given to VMs whole, and not their VFs."""
    nic = audited.profile.roles.get(RoleName.NIC)
    return nic is not None and nic.attach is not Attach.VF
