"""A planned domain, as its XML says it where QEMU's arguments do not."""

from xml.etree import ElementTree as ET

import pytest
from guest.libvirt import edges
from guest.plans import a800_four_gpus_on_two_nodes, a800_two_gpus, l20_one_gpu_and_a_vf
from msgspec.structs import replace

from pcietune.errors import BadInputError
from pcietune.guest.kinds import Backend
from pcietune.guest.libvirt.domain import domain_xml, fragment_xml
from pcietune.guest.plan import Plan

QEMU = "{http://libvirt.org/schemas/domain/qemu/1.0}"


def _domain(plan: Plan) -> ET.Element:
    return ET.fromstring("\n".join(domain_xml(plan)))


def _text(plan: Plan) -> str:
    return "\n".join(domain_xml(plan))


def _found(root: ET.Element, path: str) -> ET.Element:
    found = root.find(path)
    assert found is not None
    return found


def test_each_vcpu_is_pinned_to_its_cpu_of_the_host_and_qemu_to_all_of_them() -> None:
    plan = a800_four_gpus_on_two_nodes()

    tuning = _found(_domain(plan), "cputune")

    pinned = {each.get("vcpu"): each.get("cpuset") for each in tuning.findall("vcpupin")}
    assert pinned == {
        str(vcpu): str(cpu)
        for cell in plan.cells
        for vcpu, cpu in zip(cell.vcpus, cell.host_cpus, strict=True)
    }
    assert _found(tuning, "emulatorpin").get("cpuset") == "0-7,32-39"


def test_each_cells_memory_is_of_its_node_and_nowhere_else() -> None:
    nodes = _domain(a800_four_gpus_on_two_nodes()).findall("numatune/memnode")

    assert [each.attrib for each in nodes] == [
        {"cellid": "0", "mode": "strict", "nodeset": "0"},
        {"cellid": "1", "mode": "strict", "nodeset": "1"},
    ]


def test_nothing_is_pinned_or_bound_where_the_hosts_nodes_are_not_known() -> None:
    domain = _domain(edges.without_nodes())

    for path in ("cputune", "numatune", "memoryBacking"):
        assert domain.find(path) is None
    assert domain.find("devices/controller[@model='pcie-expander-bus']") is None


def test_each_size_of_hugepage_names_its_cells() -> None:
    plan = a800_four_gpus_on_two_nodes()
    cells = [plan.cells[0], replace(plan.cells[1], hugepage_kib=2048)]

    pages = _domain(replace(plan, cells=cells)).findall("memoryBacking/hugepages/page")

    assert [each.attrib for each in pages] == [
        {"size": "2048", "unit": "KiB", "nodeset": "1"},
        {"size": "1048576", "unit": "KiB", "nodeset": "0"},
    ]


def test_the_cpu_is_the_hosts_with_all_its_address_bits() -> None:
    domain = _domain(a800_two_gpus())

    assert domain.get("type") == "kvm"
    assert _found(domain, "cpu").attrib == {"mode": "host-passthrough"}
    assert _found(domain, "cpu/maxphysaddr").attrib == {"mode": "passthrough"}


def test_no_host_device_is_libvirts_to_bind() -> None:
    devices = _domain(l20_one_gpu_and_a_vf()).findall("devices/hostdev")

    assert [each.get("managed") for each in devices] == ["no", "no"]
    assert [each.find("driver[@iommufd]") for each in devices] == [None, None]


def test_iommufd_is_said_of_each_host_device() -> None:
    plan = a800_two_gpus()
    machine = replace(plan.machine, qemu="9.0", backend=Backend.IOMMUFD)

    drivers = _domain(replace(plan, machine=machine)).findall("devices/hostdev/driver")

    assert [each.attrib for each in drivers] == 4 * [{"name": "vfio", "iommufd": "yes"}]


def test_nothing_is_overridden_that_a_plan_leaves_to_qemu() -> None:
    assert _domain(edges.without_nodes()).find(f"{QEMU}override") is None
    assert _domain(a800_two_gpus()).find(f"{QEMU}commandline") is None


def test_a_reader_is_told_what_a_clique_is_and_for_which_host_the_plan_is() -> None:
    assert "x-nv-gpudirect-clique is somebody's word" in _text(edges.with_a_clique())
    assert "clique" not in _text(a800_two_gpus())
    assert "<!-- Planned by pcietune 0 for vm0 on Bench a800 -->" in _text(a800_two_gpus())
    unknown = replace(a800_two_gpus().host, vendor=None, product=None)
    assert "for vm0 -->" in _text(replace(a800_two_gpus(), host=unknown))


def test_a_reader_is_told_how_many_devices_move_no_bus_number() -> None:
    assert "Add up to 31 disks and networks" in _text(a800_four_gpus_on_two_nodes())
    assert "added here moves the planned bus numbers" in _text(edges.without_nodes())
    bare = replace(a800_two_gpus(), bridges=[], functions=[])
    assert "Add up to 255 disks and networks" in _text(bare)


@pytest.mark.parametrize("name", ["", " ", "a/b", "a\nb", "\x1b", "\x80"])
def test_a_name_that_libvirt_takes_for_no_vm_is_refused(name: str) -> None:
    with pytest.raises(BadInputError) as refused:
        domain_xml(edges.named(name))

    assert "name" in refused.value.hint


def test_what_the_plans_qemu_cannot_do_is_refused_whatever_libvirt_can() -> None:
    plan = edges.with_a_clique()
    older = replace(plan, machine=replace(plan.machine, qemu="7.2"))

    for written in (domain_xml, lambda each: fragment_xml(each, 1)):
        with pytest.raises(BadInputError, match="clique"):
            written(older)


def test_a_fragment_with_more_controllers_than_libvirt_numbers_is_refused() -> None:
    plan = l20_one_gpu_and_a_vf()  # of 5 bridges

    assert fragment_xml(plan, 251)
    with pytest.raises(BadInputError, match="end at 256, and libvirt's last is 255") as refused:
        fragment_xml(plan, 252)

    assert refused.value.hint == "--first-index 251 is the last that fits"
