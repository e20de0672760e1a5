"""What sleeps, so that it is not read: a read would wake it, or what is above it.

A read of Configuration Space resumes the bridge above the function, and the function itself where
it is in D3cold (drivers/pci/pci-sysfs.c, pci_config_pm_runtime_get). In D3hot a function answers,
and stays asleep. A port is left alone in both: on waking it the kernel writes its ACS words anew,
so that what it reads before says nothing.
"""

from collections.abc import Callable, Mapping

from pcietune.address import PciAddress
from pcietune.errors import ConfigSpaceError
from pcietune.model.access import HostAccess
from pcietune.model.finding import Finding, State
from pcietune.model.function import PciFunction

_STATUS = "power/runtime_status"
_STATE = "power_state"
_SUSPENDED = ("suspended", "suspending")
_SLEEPING = ("D3hot", "D3cold")
_D3COLD = "D3cold"
_UNWOKEN = "sleeps and is not woken for it"


def sleeper(
    host: HostAccess, functions: Mapping[PciAddress, PciFunction], function: PciFunction
) -> PciFunction | None:
    """Return what a read of the function's registers would wake; None if nothing.

    It costs no configuration cycle and wakes nothing: only sysfs attributes are read.
    """
    ports = [functions[port] for port in function.ports if port in functions]
    if function.is_pci_bridge:
        ports.append(function)
    elif host.attribute(function, _STATE) == _D3COLD:
        return function
    return next((port for port in ports if is_asleep(host, port)), None)


def is_asleep(host: HostAccess, port: PciFunction) -> bool:
    """Return whether a port sleeps, or is about to, as the host was first seen in this look."""
    return host.attribute(port, _STATUS) in _SUSPENDED or host.attribute(port, _STATE) in _SLEEPING


def is_asleep_now(host: HostAccess, port: PciFunction) -> bool:
    """Return the same as it is at this moment."""
    return (
        host.attribute_again(port, _STATUS) in _SUSPENDED
        or host.attribute_again(port, _STATE) in _SLEEPING
    )


def let_sleep(
    host: HostAccess, left_alone: Callable[[PciAddress], None]
) -> Callable[[PciAddress], None]:
    """Return what raises ConfigSpaceError where a read of a function would wake something.

    ``left_alone`` is then told the function.
    """
    functions = {function.address: function for function in host.functions()}

    def check(address: PciAddress) -> None:
        found = sleeper(host, functions, functions[address])
        if found is not None:
            left_alone(address)
            raise ConfigSpaceError(f"{address} is not looked at: {found.address} {_UNWOKEN}")

    return check


def is_unwoken(finding: Finding) -> bool:
    """Return whether something could not be judged only since ``let_sleep`` kept it from that."""
    return finding.state is State.ERROR and finding.reason.endswith(_UNWOKEN)
