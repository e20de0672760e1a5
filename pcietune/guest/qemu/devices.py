"""The bridges of a plan and its functions, as values of QEMU's ``-device``.

Of each device its properties, by ``qemu-system-x86_64 -device NAME,help`` of QEMU 7.2.
"""

from collections.abc import Iterable

from pcietune.guest.devices import Bridge, Passed
from pcietune.guest.kinds import Backend, BridgeKind
from pcietune.guest.plan import Plan
from pcietune.guest.qemu.property_list import property_list

IOMMUFD = "iommufd0"  # QEMU's id of the object


def device_values(plan: Plan) -> list[str]:
    """Return the value of each ``-device``, parents first."""
    places = [(bridge.parent, bridge.device) for bridge in plan.bridges]
    shared = {place for place in places if places.count(place) > 1}
    iommufd = IOMMUFD if plan.machine.backend is Backend.IOMMUFD else None
    parents = [function.parent for function in plan.functions]
    return [
        *(_bridge(each, shared=(each.parent, each.device) in shared) for each in plan.bridges),
        *(
            _function(each, iommufd, shared=parents.count(each.parent) > 1)
            for each in _functions_in_order(plan.functions)
        ),
    ]


def _functions_in_order(functions: Iterable[Passed]) -> list[Passed]:
    return sorted(functions, key=lambda each: each.guest_address)


def _bridge(bridge: Bridge, *, shared: bool) -> str:
    return property_list(
        bridge.kind,
        {
            "id": bridge.name,
            "bus": bridge.parent,
            "addr": _addr(bridge.device, bridge.function),
            "multifunction": _multifunction(bridge.function, shared=shared),
            "bus_nr": bridge.bus if bridge.kind is BridgeKind.EXPANDER else None,
            "numa_node": bridge.cell,
            "chassis": bridge.chassis,
            "slot": bridge.slot,
            "x-speed": bridge.speed,
            "x-width": bridge.width,
        },
    )


def _function(function: Passed, iommufd: str | None, *, shared: bool) -> str:
    return property_list(
        "vfio-pci",
        {
            "host": function.address,
            "id": function.name,
            "bus": function.parent,
            "addr": _addr(0, function.function),
            "multifunction": _multifunction(function.function, shared=shared),
            "iommufd": iommufd,
            "x-nv-gpudirect-clique": function.clique,
        },
    )


def _addr(device: int, function: int) -> str:
    return f"{device:#x}.{function:#x}"


def _multifunction(function: int, *, shared: bool) -> str | None:
    return "on" if shared and function == 0 else None
