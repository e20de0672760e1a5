"""Who has a switch group's functions, and the commands that hand them to VFIO or take them back."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pcietune.errors import PcietuneError
from pcietune.model.access import HostAccess
from pcietune.model.function import FunctionState, PciFunction
from pcietune.model.profile import Attach, Profile
from pcietune.model.role_name import RoleName
from pcietune.model.switch_group import SwitchGroup
from pcietune.tune.audit.audit import Audit
from pcietune.tune.bind.candidates import role_of, serving

_DEVICES = "/sys/bus/pci/devices"


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
    stops = [f"stop the VM that uses {f.address}" for f, state in given if state.in_use_by_vfio]
    functions = tuple(f for f, _ in given)
    return HandOver(functions, (*stops, *_command("unbind", functions)))


def bind_to_vfio(host: HostAccess, audited: Audit, groups: Sequence[SwitchGroup]) -> Binding:
    """Return what of the switch groups VMs cannot take yet, and how VFIO gets it.

    The driver of GPUs that NVSwitches tie is not unbound on a running host, which is reported to
    hang: those the boot binds, before their driver comes.
    """
    tops = {group.top for group in groups}
    wanted = [f for f in serving(host, audited) if audited.fabric.topmost_switch(f) in tops]
    lacking = [f for f, state in _states(host, wanted) if state.vfio is False]
    tied = RoleName.NVSWITCH in audited.roles.values()

    def is_late(function: PciFunction) -> bool:
        gpu = role_of(host, audited, function) is RoleName.GPU
        return tied and gpu and function.driver is not None

    late = tuple(function for function in lacking if is_late(function))
    now = tuple(function for function in lacking if not is_late(function))
    at_boot = "write to /etc/pcietune/pcietune.yaml: enforce: apply, and gpu in vfio: {bind: [gpu]}"
    return Binding(
        HandOver(now, tuple(_command("bind", now))), HandOver(late, (at_boot,) if late else ())
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


def _command(what: str, functions: Sequence[PciFunction]) -> Iterable[str]:
    if functions:
        yield f"pcietune vfio {what} {' '.join(str(f.address) for f in functions)}"


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
