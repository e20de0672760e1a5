"""Who has a switch group's functions, and the commands that hand them to VFIO or take them back."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

from pcietune.errors import PcietuneError
from pcietune.model.access import HostAccess
from pcietune.model.function import FunctionState, PciFunction
from pcietune.model.profile import Attach, Profile
from pcietune.model.role_name import RoleName
from pcietune.model.switch_group import SwitchGroup
from pcietune.tune.audit.audit import Audit
from pcietune.tune.vfio_use import named

_DEVICES = "/sys/bus/pci/devices"
_NETWORK = 0x02  # base class (include/linux/pci_ids.h, PCI_BASE_CLASS_NETWORK)


@dataclass(frozen=True, slots=True)
class HandOver:
    """Functions that have to change hands.

    Attributes:
        functions: Which.
        commands: What does it, in order.
    """

    functions: tuple[PciFunction, ...] = ()
    commands: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Binding:
    """Functions that VFIO is to get.

    Attributes:
        now: On the running host.
        at_boot: Only by a boot.
    """

    now: HandOver = HandOver()
    at_boot: HandOver = HandOver()


def release_from_vfio(host: HostAccess, audited: Audit, groups: Sequence[SwitchGroup]) -> HandOver:
    """Return what VFIO has of the switch groups, and how the kernel's own drivers get it back."""
    members = [f for group in groups for f in audited.fabric.below(group.top)]
    ours = [f for f in members if not audited.protection.covers(f.address)]
    given = [(f, state) for f, state in _states(host, ours) if state.vfio]
    in_use = [f for f, state in given if state.in_use_by_vfio]
    commands = [f"stop the VM that uses {f.address}" for f in in_use]
    for function, _ in given:
        device = f"{_DEVICES}/{function.address}"
        commands += [
            f"echo > {device}/driver_override",
            f"echo {function.address} > {device}/driver/unbind",
            f"echo {function.address} > /sys/bus/pci/drivers_probe",
        ]
    return HandOver(tuple(f for f, _ in given), tuple(commands))


def bind_to_vfio(host: HostAccess, audited: Audit, groups: Sequence[SwitchGroup]) -> Binding:
    """Return what of the switch groups VMs cannot take yet, and how VFIO gets it.

    The driver of GPUs that NVSwitches tie is not unbound on a running host, which is reported to
    hang: there the override is written for the next boot.
    """
    wanted = chain.from_iterable(_handed_over(host, audited, group) for group in groups)
    lacking = [f for f, state in _states(host, wanted) if state.vfio is False]
    tied = RoleName.NVSWITCH in audited.roles.values()

    def is_late(function: PciFunction) -> bool:
        gpu = audited.roles.get(function.address) is RoleName.GPU
        return tied and gpu and function.driver is not None

    late = tuple(function for function in lacking if is_late(function))
    now = tuple(function for function in lacking if not is_late(function))
    loaded = (*_look_first(now), "modprobe vfio-pci") if now else ()
    return Binding(
        HandOver(now, (*loaded, *chain.from_iterable(map(_bind, now)))),
        HandOver(
            late, tuple(f"driverctl --noprobe set-override {f.address} vfio-pci" for f in late)
        ),
    )


def lacking_virtual_functions(
    host: HostAccess, profile: Profile, groups: Sequence[SwitchGroup]
) -> HandOver:
    """Return the NICs whose VFs go to VMs and that have none yet, and how they get some."""
    if profile.roles[RoleName.NIC].attach is not Attach.VF:
        return HandOver()
    nics = [nic for group in groups for nic in group.nics]
    without = [nic for nic, state in _states(host, nics) if not state.virtual_functions]
    commands = []
    for nic in without:
        device = f"{_DEVICES}/{nic.address}"
        commands += [
            f"echo 0 > {device}/sriov_drivers_autoprobe",
            f"echo NUMBER > {device}/sriov_numvfs",
        ]
    return HandOver(tuple(without), tuple(commands))


def _handed_over(host: HostAccess, audited: Audit, group: SwitchGroup) -> Iterable[PciFunction]:
    yield from group.gpus
    if audited.profile.roles[RoleName.NIC].attach is not Attach.VF:
        yield from group.nics
        return
    for _, state in _states(host, group.nics):
        for address in state.virtual_functions:
            if address in audited.fabric.functions:
                yield audited.fabric.functions[address]


def _look_first(functions: Sequence[PciFunction]) -> Iterable[str]:
    """Yield what comes before the drivers of NICs are unbound: the host may be reached by one."""
    nics = [f for f in functions if f.driver and f.class_code >> 16 == _NETWORK]
    if nics:
        yield f"make sure that nothing of this host runs over {named(nics)}: ip link, rdma link"


def _bind(function: PciFunction) -> list[str]:
    device = f"{_DEVICES}/{function.address}"
    unbind = f"echo {function.address} > {device}/driver/unbind"
    return [
        f"echo vfio-pci > {device}/driver_override",
        *([unbind] if function.driver is not None else []),
        f"echo {function.address} > /sys/bus/pci/drivers_probe",
    ]


def _bind_at_boot(function: PciFunction) -> str:
    return f"driverctl --noprobe set-override {function.address} vfio-pci"


def _states(
    host: HostAccess, functions: Iterable[PciFunction]
) -> list[tuple[PciFunction, FunctionState]]:
    """Return the states of those functions that are still there, but for bridges."""
    found = []
    for function in functions:
        if function.is_pci_bridge:
            continue
        try:
            found.append((function, host.state(function)))
        except PcietuneError:
            continue
    return found
