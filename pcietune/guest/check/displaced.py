"""Why a function is elsewhere in the VM than planned: one sentence for all that one cause moves."""

from collections.abc import Mapping, Sequence

from pcietune.address import PciAddress
from pcietune.guest.check.location import (
    PORT_IDS,
    expander_above,
    found_hops,
    planned_bridges,
    planned_hops,
    ports_above,
    root_bus,
)
from pcietune.guest.devices import Bridge, Passed
from pcietune.guest.kinds import BridgeKind, Firmware
from pcietune.guest.plan import Plan
from pcietune.model.function import PciFunction

_MAIN_BUS = "0000:00"
_AS_PRINTED = "start the VM with what pcietune guest qemu or libvirt prints for the plan"


def why_elsewhere(
    plan: Plan,
    passed: Passed,
    function: PciFunction,
    functions: Mapping[PciAddress, PciFunction],
) -> str:
    """Return what puts a function elsewhere; empty where it is as planned.

    Args:
        plan: The plan.
        passed: The planned function.
        function: It, as the VM shows it.
        functions: All of the VM's.
    """
    planned = ports_above(plan, passed)
    above = [functions[port] for port in function.ports if port in functions]
    kinds = [port.id for port in above]
    if kinds != [PORT_IDS[port.kind] for port in planned]:
        return _other_ports(planned, function, above)
    ours, theirs = planned_hops(plan, passed), found_hops(function)
    if theirs[0] != ours[0]:
        return _other_root(expander_above(plan, passed), ours[0], theirs[0])
    if theirs != ours:
        return f"another slot of the same root bus {ours[0]} was given to it, or to a port above it"
    if str(function.address) != passed.guest_address:
        return _other_numbers(plan, passed, planned, function, functions)
    return ""


def _other_ports(
    planned: Sequence[Bridge], function: PciFunction, above: Sequence[PciFunction]
) -> str:
    if not above and planned:
        return (
            f"flat on root bus {root_bus(function)}, without a port of its own: its link is not "
            "told, ATS cannot be used, and NCCL takes another device for a NIC there (it puts 0 for"
            f" a NIC's device number); {_AS_PRINTED}"
        )
    switch = any(port.kind is BridgeKind.UPSTREAM_PORT for port in planned)
    if switch and not any(port.id == PORT_IDS[BridgeKind.UPSTREAM_PORT] for port in above):
        return (
            "no emulated switch is above it, so that to NCCL GPU and NIC are far apart (PHB, not "
            f"PIX): {_AS_PRINTED}, or write NCCL a file for this tree by pcietune guest nccl"
        )
    return f"other ports are above it than planned: {_AS_PRINTED}"


def _other_root(expander: Bridge | None, planned: str, found: str) -> str:
    if expander is None:
        return f"it is below root bus {found}, and planned below {planned}: {_AS_PRINTED}"
    if found == _MAIN_BUS:
        return (
            f"the root port above it is on pcie.0, not on expander {expander.name}, so that it has "
            f"no NUMA node either: {_AS_PRINTED}"
        )
    return (
        f"its root bus is {found}: another bus_nr (libvirt's busNr) was given to expander "
        f"{expander.name}, or it hangs on another one; planned is {planned}"
    )


def _other_numbers(
    plan: Plan,
    passed: Passed,
    planned: Sequence[Bridge],
    function: PciFunction,
    functions: Mapping[PciAddress, PciFunction],
) -> str:
    """Return why bus numbers below a root bus are others, with what the plan has not there."""
    wanted = [PciAddress.parse(port.address).bus for port in planned]
    wanted.append(PciAddress.parse(passed.guest_address).bus)
    found = [address.bus for address in (*function.ports, function.address)]
    shift = next(other - one for one, other in zip(wanted, found, strict=True) if one != other)
    amount = f"{abs(shift)} {'higher' if shift > 0 else 'lower'}"
    said = f"bus numbers below root bus {root_bus(function)} are {amount}"
    added = _unplanned_bridges(plan, function, functions)
    if added:
        return (
            f"{said}: the plan has no {' and no '.join(added)}, added by libvirt (spare root "
            "ports) or by hand; take them away, give them slots behind the plan's, or plan again"
        )
    other = next(each for each in Firmware if each is not plan.machine.firmware)
    return (
        f"{said}, though no bridge was added: does {other} enumerate the VM's buses, or a port "
        f"reserve some (bus-reserve)? The plan is for {plan.machine.firmware}"
    )


def _unplanned_bridges(
    plan: Plan, function: PciFunction, functions: Mapping[PciAddress, PciFunction]
) -> list[str]:
    """Return the bridges below a function's root bus that the plan has not."""
    known = planned_bridges(plan)
    root = root_bus(function)
    return [
        f"{each.address} ({each.id})"
        for each in functions.values()
        if each.is_pci_bridge and root_bus(each) == root and found_hops(each) not in known
    ]
