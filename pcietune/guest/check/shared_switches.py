"""Whether functions that were to share an emulated switch do, and no others do."""

from collections.abc import Iterator, Mapping, Sequence

from pcietune.address import PciAddress
from pcietune.guest.check.location import PORT_IDS
from pcietune.guest.check.row import Aspect, Row, compared
from pcietune.guest.devices import Bridge
from pcietune.guest.kinds import BridgeKind
from pcietune.guest.plan import Plan
from pcietune.model.function import PciFunction

_WHY = (
    "functions are next to each other, to NCCL, only below one upstream port (PIX): start the VM "
    "with what pcietune guest qemu or libvirt prints for the plan"
)


def check_switches(
    plan: Plan, matched: Mapping[str, PciFunction], functions: Mapping[PciAddress, PciFunction]
) -> Iterator[Row]:
    """Yield for each switch of the plan which of its functions are below one upstream port.

    Those that are missing are told of elsewhere.

    Args:
        plan: The plan.
        matched: The function that each of it is, by name.
        functions: All of the VM's.
    """
    ports = {name: _upstream_port(function, functions) for name, function in matched.items()}
    for switch in plan.bridges:
        if switch.kind is not BridgeKind.UPSTREAM_PORT:
            continue
        planned = _below(plan, switch)
        members = [name for name in planned if name in matched]
        if not members:
            continue
        common = ports[members[0]]
        together = [name for name, port in ports.items() if common is not None and port == common]
        in_order = [each.name for each in plan.functions if each.name in together]
        found = _words(in_order) if in_order else f"none above {members[0]}"
        words = _words(members) if in_order == members else _words(planned)
        yield compared(switch.name, Aspect.SWITCH, words, found, _WHY)


def _below(plan: Plan, switch: Bridge) -> Sequence[str]:
    ports = {bridge.name for bridge in plan.bridges if bridge.parent == switch.name}
    return [each.name for each in plan.functions if each.parent in ports]


def _upstream_port(
    function: PciFunction, functions: Mapping[PciAddress, PciFunction]
) -> PciAddress | None:
    """Return the emulated upstream port right above a function's downstream port, if there is."""
    wanted = PORT_IDS[BridgeKind.UPSTREAM_PORT]
    above = function.ports[-2:-1]
    return next((p for p in above if p in functions and functions[p].id == wanted), None)


def _words(names: Sequence[str]) -> str:
    return f"shared by {', '.join(names)}" if len(names) > 1 else f"of {names[0]} alone"
