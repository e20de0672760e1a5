"""Each way for functions to be elsewhere is told by its cause, once for all that it moves."""

from dataclasses import replace
from pathlib import Path

import msgspec
from guest import plans
from guest.check.seen import checked, differing, why
from guest.check.vm import Vm, port, vm_of
from trees.config import ConfigBuilder
from trees.function import Function

from pcietune.guest.check.row import Aspect
from pcietune.guest.check.told import lines
from pcietune.guest.kinds import BridgeKind, Firmware
from pcietune.guest.plan import Plan

PLAN = plans.a800_two_gpus()
NAMES = ("gpu0", "gpu1", "nic0", "nic1")
FLAT = {f"0000:{0x23 + n:02x}:00.0": f"0000:00:{0x05 + n:02x}.0" for n in range(4)}


def _with_spare_port(plan: Plan, number: int) -> Vm:
    """Return the VM of a plan below whose root bus a port took the first numbers."""
    vm = vm_of(plan).shifted(number, first=0x21)
    return vm.plus(port(BridgeKind.ROOT_PORT, "0000:20:01.0"))


def test_a_spare_port_shifts_all_bus_numbers_and_is_named(tmp_path: Path) -> None:
    result = checked(PLAN, _with_spare_port(PLAN, 1), tmp_path)

    assert differing(result) == [(name, Aspect.ADDRESS) for name in NAMES]
    (cause,) = {why(result, name, Aspect.ADDRESS) for name in NAMES}
    assert cause.startswith(
        "bus numbers below root bus 0000:20 are 1 higher: the plan has no 0000:20:01.0"
    )
    said = list(lines(result))
    assert said[0] == "NOT as planned: vm0: 4 of 37 differ"
    assert said[1] == "  gpu0 is at 0000:24:00.0, planned 0000:23:00.0"
    assert said.count(f"  -> {cause}") == 1


def test_numbers_that_no_bridge_took_are_laid_to_the_firmware(tmp_path: Path) -> None:
    plan = msgspec.structs.replace(
        PLAN, machine=msgspec.structs.replace(PLAN.machine, firmware=Firmware.OVMF)
    )
    result = checked(plan, vm_of(plan).shifted(2, first=0x24), tmp_path)

    assert differing(result) == [(name, Aspect.ADDRESS) for name in NAMES[1:]]
    (cause,) = {why(result, name, Aspect.ADDRESS) for name in NAMES[1:]}
    assert cause.startswith("bus numbers below root bus 0000:20 are 2 higher, though no bridge was")
    assert "does seabios enumerate the VM's buses" in cause


def test_lower_numbers_are_called_lower(tmp_path: Path) -> None:
    vm = vm_of(PLAN).without("0000:22:02.0").shifted(-1, first=0x26)
    result = checked(PLAN, vm, tmp_path)

    assert "0000:20 are 1 lower" in why(result, "nic1", Aspect.ADDRESS)


def test_an_expander_with_another_number_is_named(tmp_path: Path) -> None:
    result = checked(PLAN, vm_of(PLAN).shifted(0x60, first=0x20), tmp_path)

    assert ("up0", Aspect.SWITCH) not in differing(result)
    (cause,) = {why(result, name, Aspect.ADDRESS) for name in NAMES}
    assert cause.startswith("its root bus is 0000:80: another bus_nr (libvirt's busNr) was given")
    assert cause.endswith("planned is 0000:20")


def test_root_ports_on_the_main_bus_have_lost_their_expander(tmp_path: Path) -> None:
    vm = vm_of(PLAN).shifted(-0x20, first=0x21)
    without = tuple(f for f in vm.functions if f.address != "0000:00:08.0")  # the expander
    lost = replace(vm, functions=without).moved({"0000:20:00.0": "0000:00:08.0"})
    for name in NAMES:
        lost = lost.showing(f"0000:{0x03 + NAMES.index(name):02x}:00.0", numa_node="-1")
    result = checked(PLAN, lost, tmp_path)

    assert why(result, "gpu0", Aspect.ADDRESS).startswith(
        "the root port above it is on pcie.0, not on expander pxb0, so that it has no NUMA node"
    )
    assert "expander pxb0 above it tells no node" in why(result, "nic1", Aspect.NODE)


def _flat() -> Vm:
    vm = vm_of(PLAN)
    moved = [
        replace(f, address=FLAT[f.address], below=None) for f in vm.functions if f.address in FLAT
    ]
    return Vm(tuple(moved), vm.nodes)


def test_a_flat_vm_is_called_flat(tmp_path: Path) -> None:
    result = checked(PLAN, _flat(), tmp_path)

    wrong = differing(result)
    assert wrong[:2] == [("gpu0", Aspect.ADDRESS), ("gpu0", Aspect.PORTS)]
    assert ("up0", Aspect.SWITCH) in wrong
    (cause,) = {why(result, name, Aspect.ADDRESS) for name in NAMES}
    assert cause.startswith("flat on root bus 0000:00, without a port of its own")


def test_a_switch_was_planned_for_functions_that_are_missing_too(tmp_path: Path) -> None:
    flat = _flat()
    result = checked(PLAN, Vm(flat.functions[:1], flat.nodes), tmp_path)

    (switch,) = (row for row in result.rows if row.aspect is Aspect.SWITCH)
    assert switch.planned == f"shared by {', '.join(NAMES)}"
    assert switch.found == f"none above {NAMES[0]}"


def test_a_vm_without_the_switch_is_told_from_a_flat_one(tmp_path: Path) -> None:
    ports = plans.two_gpus_on_ports()
    result = checked(PLAN, vm_of(ports), tmp_path)

    assert differing(result)[0] == ("gpu0", Aspect.ADDRESS)
    cause = why(result, "gpu0", Aspect.PORTS)
    assert cause.startswith(
        "no emulated switch is above it, so that to NCCL GPU and NIC are far apart"
    )


def test_a_switch_that_was_not_planned_is_another_port(tmp_path: Path) -> None:
    result = checked(plans.two_gpus_on_ports(), vm_of(PLAN), tmp_path)

    assert why(result, "gpu0", Aspect.PORTS).startswith("other ports are above it than planned")


def test_another_slot_is_told(tmp_path: Path) -> None:
    vm = vm_of(PLAN).moved({"0000:22:03.0": "0000:22:07.0"})
    result = checked(PLAN, vm, tmp_path)

    # Its address is as planned, and so are its ports: only their slots are others.
    assert differing(result) == []


def test_another_slot_with_another_number_is_told(tmp_path: Path) -> None:
    vm = vm_of(PLAN).moved({"0000:22:03.0": "0000:22:07.0", "0000:26:00.0": "0000:2a:00.0"})
    result = checked(PLAN, vm, tmp_path)

    assert why(result, "nic1", Aspect.ADDRESS).startswith("another slot of the same root bus")


def test_functions_below_two_switches_that_were_to_share_one_are_found(tmp_path: Path) -> None:
    four = plans.a800_four_gpus_on_two_nodes()
    one = msgspec.structs.replace(four.function("nic1"), id="15b3:1021")
    told_apart = msgspec.structs.replace(
        four, functions=[one if f.name == "nic1" else f for f in four.functions]
    )
    apart = vm_of(told_apart)
    crossed = apart.changed(
        "0000:26:00.0", lambda f: replace(f, config=apart.at("0000:46:00.0").config)
    )
    crossed = crossed.changed(
        "0000:46:00.0", lambda f: replace(f, config=apart.at("0000:26:00.0").config)
    )
    result = checked(told_apart, crossed, tmp_path)

    assert ("up0", Aspect.SWITCH) in differing(result)
    assert differing(result)[0] == ("nic1", Aspect.ADDRESS)


def test_what_is_missing_is_told_from_its_neighbour_below_another_root_bus(tmp_path: Path) -> None:
    vm = vm_of(PLAN).without("0000:23:00.0").shifted(0x60, first=0x20)
    result = checked(PLAN, vm, tmp_path)

    found = {row.subject: row.found for row in result.rows if row.aspect is Aspect.ADDRESS}
    assert (found["gpu0"], found["gpu1"]) == (None, "0000:84:00.0")


def test_another_device_at_the_place_of_a_port_is_no_port(tmp_path: Path) -> None:
    vm = vm_of(PLAN).without("0000:20:00.0")
    other = Function("0000:20:00.0", ConfigBuilder("1b36:000e", 0x060400))
    result = checked(PLAN, vm.plus(other), tmp_path)

    assert why(result, "gpu0", Aspect.ADDRESS).startswith("nor are the ports above it (rp0, up0")
