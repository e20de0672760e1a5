"""What a plan predicts is what SeaBIOS and OVMF make of it under QEMU."""

from collections.abc import Callable

import pytest
from guest.layout.hosts import forests
from guest.qemu.layouts import (
    a_cascade_and_nvswitches,
    more_root_ports_than_slots,
    of_forest,
    switches_on_two_nodes,
)
from guest.qemu.running import PciDevice, Qemu, place_of, rng, running
from hypothesis import given, settings
from msgspec.structs import replace

from pcietune.guest.devices import Passed
from pcietune.guest.kinds import BridgeKind, Firmware
from pcietune.guest.layout.budget import budget_of
from pcietune.guest.plan import Plan

GIB = 1 << 30
MIB = 1 << 20
# What a site, or libvirt by itself, adds on pcie.0: ports for its devices, and a PCI bridge.
SITES_OWN = (
    *("-device", "pcie-root-port,id=own0,bus=pcie.0,addr=0x2,chassis=200"),
    *("-device", "pcie-root-port,id=own1,bus=pcie.0,addr=0x3,chassis=201"),
    *("-device", "pcie-pci-bridge,id=own2,bus=own0"),
    *("-device", "virtio-rng-pci,id=own3,bus=own1"),
)


def _with(plan: Plan, firmware: Firmware) -> Plan:
    return replace(plan, machine=replace(plan.machine, firmware=firmware))


def _predicted(plan: Plan) -> dict[str, tuple[str, int, int]]:
    """Return address, bus below and last bus of each bridge that has a register for them."""
    bridges = {
        each.name: (each.address, each.bus, each.last_bus)
        for each in plan.bridges
        if each.kind is not BridgeKind.EXPANDER
    }
    return bridges | {each.name: (each.guest_address, 0, 0) for each in plan.functions}


def _given(qemu: Qemu) -> dict[str, tuple[str, int, int]]:
    return {
        name: (device.address, *_numbers(device))
        for name, device in qemu.pci_devices().items()
        if not name.startswith(("own", "pxb"))
    }


def _numbers(device: PciDevice) -> tuple[int, int]:
    below = device.pci_bridge
    return (0, 0) if below is None else (below.bus.secondary, below.bus.subordinate)


@pytest.mark.parametrize("firmware", Firmware)
@pytest.mark.parametrize(
    "plan", [switches_on_two_nodes, a_cascade_and_nvswitches, more_root_ports_than_slots]
)
def test_firmware_numbers_buses_as_predicted(plan: Callable[[], Plan], firmware: Firmware) -> None:
    planned = _with(plan(), firmware)

    with running(planned, *SITES_OWN, stand_in=rng) as qemu:
        given = qemu.wait_for(_given, _predicted(planned))

    assert given == _predicted(planned)


@settings(max_examples=10)  # a start takes a third of a second
@given(paths=forests)
def test_seabios_numbers_the_buses_below_any_switches_as_predicted(
    paths: list[tuple[int, ...]],
) -> None:
    planned = _with(of_forest(paths), Firmware.SEABIOS)

    with running(planned, stand_in=rng) as qemu:
        given_numbers = qemu.wait_for(_given, _predicted(planned))

    assert given_numbers == _predicted(planned)


def _with_bars(plan: Plan) -> Plan:
    """Return a plan whose functions have a large BAR and a small one, and the windows for them."""
    functions = [
        replace(each, bars_64=[8 * GIB, 32 * MIB], bars_32=[4096]) for each in plan.functions
    ]
    return replace(plan, functions=functions, budget=budget_of(plan.bridges, functions))


def _two_bars(function: Passed) -> list[str]:
    """Return two functions in one's place that share memory with the host by a BAR each."""
    arguments = []
    for number, size in enumerate(function.bars_64):
        each = replace(function, name=f"{function.name}x{number}", function=number)
        arguments += [
            *("-object", f"memory-backend-ram,id={each.name}m,size={size},reserve=off"),
            *("-device", f"ivshmem-plain,memdev={each.name}m,{place_of(each)}"),
        ]
    return arguments


@pytest.mark.parametrize("firmware", Firmware)
def test_the_windows_have_room_for_every_bar(firmware: Firmware) -> None:
    planned = _with(_with_bars(switches_on_two_nodes()), firmware)
    wanted = {
        f"{each.name}x{number}": [size]
        for each in planned.functions
        for number, size in enumerate(each.bars_64)
    }

    def with_addresses(qemu: Qemu) -> dict[str, list[int]]:
        return {
            name: [each.size for each in device.regions if each.bar == 2 and each.address > 0]
            for name, device in qemu.pci_devices().items()
            if name in wanted
        }

    with running(planned, stand_in=_two_bars) as qemu:
        given = qemu.wait_for(with_addresses, wanted)

    assert given == wanted
