"""What keeps a repair waiting: functions in use, and ports asleep."""

from collections.abc import Iterable
from dataclasses import dataclass

from pcietune.address import PciAddress
from pcietune.errors import ConfigSpaceError
from pcietune.model.access import HostAccess
from pcietune.model.fabric import Fabric
from pcietune.model.function import PciFunction
from pcietune.model.plan import Plan, PlannedStep, PlannedSwitch
from pcietune.tune.watch.asleep import is_asleep, is_asleep_now


@dataclass(frozen=True, slots=True)
class Waits:
    """Who must let go or wake, before something can be looked at or repaired.

    Attributes:
        users: Functions in use by VFIO.
        sleepers: Ports asleep.
    """

    users: tuple[PciFunction, ...] = ()
    sleepers: tuple[PciFunction, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.users or self.sleepers)

    def and_also(self, others: "Waits") -> "Waits":
        """Return these and others, each once."""
        users = dict.fromkeys((*self.users, *others.users))
        return Waits(tuple(users), tuple(dict.fromkeys((*self.sleepers, *others.sleepers))))

    def ended(self, host: HostAccess) -> bool:
        """Return whether one of them let go, woke or vanished; costs no configuration cycle."""
        return any(not _in_use(host, user) for user in self.users) or any(
            not is_asleep_now(host, port) for port in self.sleepers
        )


NO_WAITS = Waits()


def waits(host: HostAccess, fabric: Fabric, plan: Plan, asleep: Iterable[PciAddress]) -> Waits:
    """Return what a plan's deferred steps wait for, and the ports that kept registers unread."""
    concerned = {
        function.address: function
        for held in plan.deferred
        for function in _below(host, fabric, held.planned)
    }
    users = [function for function in concerned.values() if _in_use(host, function)]
    ports = {
        port.address: port
        for address in asleep
        if address in fabric.functions
        for port in (*fabric.ports_above(fabric.functions[address]), fabric.functions[address])
        if port.is_pci_bridge and is_asleep(host, port)
    }
    return Waits(tuple(users), tuple(ports.values()))


def _below(host: HostAccess, fabric: Fabric, step: PlannedStep) -> list[PciFunction]:
    """Return the functions any of which may be what a step waits for."""
    if not isinstance(step, PlannedSwitch):
        return fabric.below(step.function)
    group = host.platform().group(step.iommu_group)
    members = () if group is None else group.members
    return [fabric.functions[member] for member in members if member in fabric.functions]


def _in_use(host: HostAccess, function: PciFunction) -> bool:
    try:
        return host.state_again(function).in_use_by_vfio
    except ConfigSpaceError:
        return False
