"""What libvirt makes of a planned domain is what was planned."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from guest.libvirt import edges
from guest.libvirt.virsh import Device, Native, Virsh, without_kvm
from guest.plans import (
    a800_four_gpus_on_two_nodes,
    a800_two_gpus,
    l20_one_gpu_and_a_vf,
    two_gpus_on_ports,
)
from msgspec.structs import replace

from pcietune.guest.devices import Bridge
from pcietune.guest.kinds import BridgeKind
from pcietune.guest.libvirt.domain import domain_xml
from pcietune.guest.plan import Plan

PLANS = [
    a800_two_gpus,
    a800_four_gpus_on_two_nodes,
    l20_one_gpu_and_a_vf,
    two_gpus_on_ports,
    edges.with_a_companion,
    edges.without_nodes,
    edges.with_an_unbound_cell,
    edges.with_ovmf,
    edges.with_a_clique,
]
every_plan = pytest.mark.parametrize("made", PLANS, ids=lambda made: made.__name__)


def _native(virsh: Virsh, plan: Plan) -> Native:
    return virsh.native(without_kvm("\n".join(domain_xml(plan))))


def _place(device: Device) -> tuple[str, int, int]:
    """Return a device's bus by our name, its Device and its Function Number."""
    slot, _, function = str(device["addr"]).partition(".")
    return str(device["bus"]).removeprefix("ua-"), int(slot, 16), int(function or "0", 16)


@every_plan
def test_each_bridge_is_where_it_was_planned(virsh: Virsh, made: Callable[[], Plan]) -> None:
    plan = made()
    native = _native(virsh, plan)

    for bridge in plan.bridges:
        device = native.device(f"ua-{bridge.name}")
        assert device["driver"] == bridge.kind.value
        assert _place(device) == (bridge.parent, bridge.device, bridge.function)
        _is_as_planned(device, bridge)


def _is_as_planned(device: Device, bridge: Bridge) -> None:
    expander = bridge.kind is BridgeKind.EXPANDER
    width = None if bridge.width is None else str(bridge.width)
    assert device.get("bus_nr") == (bridge.bus if expander else None)
    assert device.get("numa_node") == bridge.cell
    assert (device.get("x-speed"), device.get("x-width")) == (bridge.speed, width)


@every_plan
def test_each_function_is_where_it_was_planned(virsh: Virsh, made: Callable[[], Plan]) -> None:
    plan = made()
    native = _native(virsh, plan)

    for function in plan.functions:
        device = native.device(f"ua-{function.name}")
        assert (device["driver"], device["host"]) == ("vfio-pci", function.address)
        assert _place(device) == (function.parent, 0, function.function)
        assert device.get("x-nv-gpudirect-clique") == function.clique


@every_plan
def test_nothing_is_added_but_the_console(virsh: Virsh, made: Callable[[], Plan]) -> None:
    plan = made()
    devices = _native(virsh, plan).devices()

    names = [each.name for each in plan.bridges] + [each.name for each in plan.functions]
    planned = {f"ua-{name}" for name in names}
    assert {str(each["id"]) for each in devices} == planned | {"serial0"}
    assert len(devices) == len(planned) + 1


@every_plan
def test_ports_have_chassis_of_their_own(virsh: Virsh, made: Callable[[], Plan]) -> None:
    chassis = [each["chassis"] for each in _native(virsh, made()).devices() if "chassis" in each]

    assert len(set(chassis)) == len(chassis) > 0


@every_plan
def test_cells_have_their_cpus_memory_and_distances(virsh: Virsh, made: Callable[[], Plan]) -> None:
    plan = made()
    native = _native(virsh, plan)

    nodes = [each for each in native.values("-numa") if each.startswith("node,")]
    sizes = [each["size"] for each in native.memory()]
    distances = [each for each in native.values("-numa") if each.startswith("dist,")]
    assert nodes == [
        f"node,nodeid={each.cell},cpus={each.vcpus[0]}-{each.vcpus[-1]},memdev=ram-node{each.cell}"
        for each in plan.cells
    ]
    assert sizes == [each.memory_mib << 20 for each in plan.cells]
    if len(plan.cells) > 1:
        assert distances == [
            f"dist,src={one.cell},dst={other},val={value}"
            for one in plan.cells
            for other, value in enumerate(one.distances)
        ]


@every_plan
def test_memory_is_of_hugepages_and_bound_where_that_was_planned(
    virsh: Virsh, made: Callable[[], Plan]
) -> None:
    plan = made()

    for backend, cell in zip(_native(virsh, plan).memory(), plan.cells, strict=True):
        huge = None if cell.hugepage_kib is None else cell.hugepage_kib << 10
        assert (backend.get("hugetlbsize"), backend.get("hugetlb", False)) == (huge, bool(huge))
        assert backend.get("share", False) is any(each.hugepage_kib for each in plan.cells)
        assert backend.get("policy") == (None if cell.host_node is None else "bind")


@every_plan
def test_large_bars_have_room(virsh: Virsh, made: Callable[[], Plan]) -> None:
    plan = made()
    native = _native(virsh, plan)

    kib = plan.budget.memory_64_mib << 10
    assert f"q35-pcihost.pci-hole64-size={kib}K" in native.values("-global")
    assert "host-phys-bits=on" in native.values("-cpu")[0].split(",")


def test_functions_of_one_slot_are_told_so(virsh: Virsh) -> None:
    companions = _native(virsh, edges.with_a_companion())
    ports = _native(virsh, edges.without_nodes())

    assert _of_several(companions) == ["ua-gpu0"]
    assert _of_several(ports) == ["ua-rp0", "ua-rp2"]


def _of_several(native: Native) -> list[str]:
    return [str(each["id"]) for each in native.devices() if each.get("multifunction") is True]


def test_a_cell_that_is_bound_to_nothing_is_beside_one_that_is(virsh: Virsh) -> None:
    native = _native(virsh, edges.with_an_unbound_cell())

    assert [each.get("host-nodes") for each in native.memory()] == [[0], None]
    assert native.values("-smp") == ["10,sockets=1,dies=1,cores=10,threads=1"]


def test_a_cell_may_have_memory_only(virsh: Virsh) -> None:
    plan = a800_four_gpus_on_two_nodes()
    memory_only = replace(plan.cells[1], vcpus=[], host_cpus=[])

    native = _native(virsh, replace(plan, cells=[plan.cells[0], memory_only]))

    assert native.values("-numa")[:2] == [
        "node,nodeid=0,cpus=0-7,memdev=ram-node0",
        "node,nodeid=1,memdev=ram-node1",
    ]
    assert native.values("-smp") == ["8,sockets=1,dies=1,cores=8,threads=1"]


def test_sockets_are_the_cells_and_cores_have_the_hosts_threads(virsh: Virsh) -> None:
    plan = a800_four_gpus_on_two_nodes()
    siblings = replace(plan, cells=[replace(each, threads=2) for each in plan.cells])

    (topology,) = _native(virsh, siblings).values("-smp")

    assert topology == "16,sockets=2,dies=1,cores=4,threads=2"


def test_ovmf_is_found_without_secure_boot_and_told_the_window(virsh: Virsh) -> None:
    plan = edges.with_ovmf()
    native = _native(virsh, plan)

    assert native.values("-fw_cfg") == [
        f"name=opt/ovmf/X-PciMmio64Mb,string={plan.budget.memory_64_mib}"
    ]
    used = " ".join(native.values("-blockdev"))
    (features,) = [
        each.features for each in _firmwares() if each.mapping.executable.filename in used
    ]
    assert "secure-boot" not in features


class _File(msgspec.Struct):
    filename: str


class _Mapping(msgspec.Struct):
    executable: _File


class _Firmware(msgspec.Struct):
    """How a package describes a firmware (docs/interop/firmware.json of QEMU)."""

    mapping: _Mapping
    features: list[str]


def _firmwares() -> list[_Firmware]:
    paths = Path("/usr/share/qemu/firmware").glob("*edk2-x86_64*.json")
    return [msgspec.json.decode(each.read_bytes(), type=_Firmware) for each in paths]


def test_disks_are_put_where_they_move_no_planned_address(virsh: Virsh) -> None:
    plan = a800_two_gpus()
    xml = without_kvm("\n".join(domain_xml(plan)))
    native = virsh.native(
        xml.replace("</devices>", f"{''.join(map(_disk, 'abcdefghij'))}</devices>")
    )

    ours = {"ua-" + each.name for each in plan.bridges}
    theirs = [each for each in native.devices() if each["driver"] == "pcie-root-port"]
    added = [each for each in theirs if each["id"] not in ours]
    assert len(added) == 10
    assert {_place(each)[0] for each in added} == {"pcie.0"}
    assert max(_place(each)[1] for each in added) < plan.bridges[0].device
    assert 1 + len(added) < plan.bridges[0].bus
    for bridge in plan.bridges:
        place = _place(native.device(f"ua-{bridge.name}"))
        assert place == (bridge.parent, bridge.device, bridge.function)


def _disk(letter: str) -> str:
    return (
        f"<disk type='file'><source file='/{letter}'/>"
        f"<target dev='vd{letter}' bus='virtio'/></disk>"
    )


def test_a_name_arrives_as_it_was_planned(virsh: Virsh) -> None:
    name = 'the "1st" & <2nd>\'s'

    (said,) = _native(virsh, edges.named(name)).values("-name")

    assert said == f"guest={name},debug-threads=on"
