"""SeaBIOS gives the buses of a VM that libvirt starts the planned numbers."""

from collections.abc import Callable

import pytest
from guest.libvirt.enumerating import addresses, started
from guest.libvirt.virsh import Native, Virsh, without_kvm
from guest.plans import (
    a800_four_gpus_on_two_nodes,
    a800_two_gpus,
    l20_one_gpu_and_a_vf,
    two_gpus_on_ports,
)
from guest.qemu.running import Qemu
from msgspec.structs import replace

from pcietune.guest.libvirt.domain import domain_xml
from pcietune.guest.plan import Plan

SITES_OWN = "<rng model='virtio'><backend model='random'>/dev/urandom</backend></rng>"


def _native(virsh: Virsh, plan: Plan, further: int) -> Native:
    xml = without_kvm("\n".join(domain_xml(plan)))
    return virsh.native(xml.replace("</devices>", f"{further * SITES_OWN}</devices>"))


@pytest.mark.parametrize(
    "made",
    [a800_two_gpus, a800_four_gpus_on_two_nodes, l20_one_gpu_and_a_vf, two_gpus_on_ports],
    ids=lambda made: made.__name__,
)
@pytest.mark.parametrize("further", [0, 31])
def test_devices_get_the_planned_addresses_beside_as_many_others_as_is_told(
    virsh: Virsh, made: Callable[[], Plan], further: int
) -> None:
    plan = made()
    planned = _planned(plan)

    with started(_native(virsh, plan, further), len(plan.cells)) as qemu:
        assert qemu.wait_for(_ours, planned) == planned


def test_indexes_of_controllers_move_no_address(virsh: Virsh) -> None:
    plan = a800_two_gpus()
    above, ports = plan.bridges[:3], plan.bridges[3:]
    planned = _planned(plan)

    otherwise = replace(plan, bridges=[*above, *reversed(ports)])

    with started(_native(virsh, otherwise, 0), len(plan.cells)) as qemu:
        assert qemu.wait_for(_ours, planned) == planned


def test_one_more_takes_a_planned_bus_number(virsh: Virsh) -> None:
    plan = a800_four_gpus_on_two_nodes()  # whose second root bus is numbered last
    last = plan.function("nic3").guest_address

    with started(_native(virsh, plan, 32), len(plan.cells)) as qemu:
        assert qemu.wait_for(lambda each: addresses(each).get("ua-nic3", ""), last) == last
        found = addresses(qemu)

    assert found["rng31"] == "0000:20:00.0"
    assert "ua-gpu0" not in found


def _ours(qemu: Qemu) -> dict[str, str]:
    return {name: at for name, at in addresses(qemu).items() if name.startswith("ua-")}


def _planned(plan: Plan) -> dict[str, str]:
    bridges = {f"ua-{each.name}": each.address for each in plan.bridges}
    return bridges | {f"ua-{each.name}": each.guest_address for each in plan.functions}
