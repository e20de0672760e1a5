"""Which ways pcietune has, on this host, to change something."""

from dataclasses import dataclass
from enum import StrEnum

from pcietune.errors import NotPermittedError
from pcietune.model.access import HostAccess
from pcietune.model.plan import Plan, PlannedWrite
from pcietune.model.platform import Lockdown


class ChannelState(StrEnum):
    """Whether a way is open."""

    OPEN = "open"
    CLOSED = "closed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Channel:
    """One way.

    Attributes:
        state: Whether it is open.
        reason: Why, in one sentence.
    """

    state: ChannelState
    reason: str


@dataclass(frozen=True, slots=True)
class Channels:
    """All ways.

    Attributes:
        registers: Masked writes of ACS Control.
        group_type: Switching an IOMMU group's default domain, which makes the kernel set ATS.
        config_acs: ``pci=config_acs=`` on the kernel command line.
        firmware: The NICs' firmware settings.
    """

    registers: Channel
    group_type: Channel
    config_acs: Channel
    firmware: Channel


_LOCKDOWN_HINT = (
    "set the bits with pci=config_acs= on the kernel command line: pcietune kernel-args"
)


def channels(host: HostAccess) -> Channels:
    """Return which ways are open on ``host``."""
    return Channels(
        registers=_registers(host),
        group_type=_group_type(host),
        config_acs=_config_acs(host.knows_config_acs()),
        firmware=Channel(ChannelState.UNKNOWN, "pcietune firmware asks the NICs, and nothing else"),
    )


def check_registers(host: HostAccess) -> None:
    """Do nothing if registers may be written.

    Raises:
        NotPermittedError: They may not.
    """
    channel = _registers(host)
    if channel.state is ChannelState.CLOSED:
        locked = host.platform().lockdown not in (Lockdown.NONE, Lockdown.UNKNOWN)
        raise NotPermittedError(
            f"registers may not be written: {channel.reason}",
            hint=_LOCKDOWN_HINT if locked else "run pcietune as root",
        )


def _group_type(host: HostAccess) -> Channel:
    groups = host.platform().groups
    if groups is None:
        return Channel(ChannelState.UNKNOWN, "a dump tells no IOMMU groups")
    if not groups:
        return Channel(ChannelState.CLOSED, "there are no IOMMU groups")
    if not host.privileged:
        return Channel(ChannelState.CLOSED, "not root")
    return Channel(ChannelState.OPEN, f"{len(groups)} IOMMU groups")


def check_ways(host: HostAccess, plan: Plan) -> None:
    """Do nothing if the ways are open that the plan's steps need.

    Lockdown concerns registers alone: sysfs attributes take a value from root all the same.

    Raises:
        NotPermittedError: One is not.
    """
    if any(isinstance(step, PlannedWrite) for step in plan.writes):
        check_registers(host)
    elif plan.steps and not host.privileged:
        raise NotPermittedError("nothing may be written: not root", hint="run pcietune as root")


def _registers(host: HostAccess) -> Channel:
    lockdown = host.platform().lockdown
    if not host.privileged:
        return Channel(ChannelState.CLOSED, "not root")
    if lockdown is Lockdown.UNKNOWN:
        return Channel(ChannelState.UNKNOWN, "the kernel's lockdown mode is not readable")
    if lockdown is not Lockdown.NONE:
        return Channel(ChannelState.CLOSED, f"the kernel is locked down ({lockdown.value})")
    return Channel(ChannelState.OPEN, "root, and the kernel is not locked down")


def _config_acs(supported: bool | None) -> Channel:  # noqa: FBT001 -- the fact itself
    match supported:
        case None:
            return Channel(ChannelState.UNKNOWN, "the kernel's symbols are not readable")
        case True:
            return Channel(ChannelState.OPEN, "this kernel knows pci=config_acs=")
        case False:
            return Channel(ChannelState.CLOSED, "this kernel does not know pci=config_acs= (6.11)")
