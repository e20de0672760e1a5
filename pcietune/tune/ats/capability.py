"""NICs without an ATS capability, and how their firmware gives or takes it."""

from pcietune.model.fabric import Fabric
from pcietune.model.finding import Remedy, RemedyKind, State
from pcietune.model.function import FunctionState, PciFunction
from pcietune.tune.ats.verdict import Verdict

_MELLANOX = 0x15B3
_GRACE_ROOT_PORTS = ("10de:22b1", "10de:22b2", "10de:22b8")  # Grace CPUs have no PCIe ATS


def without_capability(fabric: Fabric, function: PciFunction, state: FunctionState) -> Verdict:
    """Return how a function without an ATS capability is judged."""
    root = next(iter(fabric.ports_above(function)), None)
    if root is not None and root.id in _GRACE_ROOT_PORTS:
        return Verdict(State.NOT_APPLICABLE, "Grace CPUs do not have PCIe ATS")
    if function.vendor == _MELLANOX:
        reason = "the NIC's firmware has ATS switched off, so there is no capability"
    else:
        reason = "it has no ATS capability, so it cannot send translated requests"
    return Verdict(State.FAIL, reason, switch_in_firmware(function, state, on=True))


def may_have_in_firmware(fabric: Fabric, function: PciFunction) -> bool | None:
    """Return whether firmware can give ATS to a NIC without the capability; None if not known."""
    root = next(iter(fabric.ports_above(function)), None)
    if root is not None and root.id in _GRACE_ROOT_PORTS:
        return False
    return True if function.vendor == _MELLANOX else None


def switch_in_firmware(function: PciFunction, state: FunctionState, *, on: bool) -> Remedy:
    """Return how ATS is switched where only the device's firmware can; of a VF its PF's."""
    if function.vendor == _MELLANOX:
        card = state.physical_function or function.address
        switch = f"pcietune firmware --set --device {card}"
        command = switch if on else f"mlxconfig -d {card} set ATS_ENABLED=false"
        command += ", then reboot the host"
    else:
        word = "on" if on else "off"
        command = f"switch ATS {word} in the device's firmware, if it can, then reboot the host"
    return Remedy(RemedyKind.FIRMWARE, command)
