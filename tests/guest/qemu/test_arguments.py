from itertools import pairwise

import pytest
from guest.plans import (
    a800_four_gpus_on_two_nodes,
    a800_two_gpus,
    cell,
    l20_one_gpu_and_a_vf,
    two_gpus_on_ports,
)
from msgspec.structs import replace

from pcietune.errors import BadInputError
from pcietune.guest.devices import Passed
from pcietune.guest.kinds import Backend, Firmware
from pcietune.guest.needs import check_needs
from pcietune.guest.plan import Plan
from pcietune.guest.qemu.arguments import qemu_arguments
from pcietune.guest.qemu.options import Accelerator, QemuOptions


def _values(plan: Plan, option: str, options: QemuOptions | None = None) -> list[str]:
    arguments = qemu_arguments(plan, options or QemuOptions())
    return [
        value for word, value in pairwise(arguments) if word == option and not value.startswith("-")
    ]


def test_each_cell_has_memory_of_its_node_in_hugepages() -> None:
    plan = a800_four_gpus_on_two_nodes()

    assert _values(plan, "-m") == ["131072M"]
    assert _values(plan, "-object") == [
        f"memory-backend-memfd,id=ram{n},size=65536M,hugetlb=on,hugetlbsize=1048576K,prealloc=on,"
        f"host-nodes={n},policy=bind"
        for n in range(2)
    ]
    assert _values(plan, "-numa") == [
        "node,nodeid=0,memdev=ram0,cpus=0-7",
        "node,nodeid=1,memdev=ram1,cpus=8-15",
        "dist,src=0,dst=1,val=21",
        "dist,src=1,dst=0,val=21",
    ]


def test_ordinary_pages_that_are_not_bound_are_plain_memory() -> None:
    plain = replace(cell(0, host_node=0, first_vcpu=0, vcpus=2), host_node=None, hugepage_kib=None)

    plan = replace(a800_two_gpus(), cells=[plain])

    assert _values(plan, "-object") == ["memory-backend-ram,id=ram0,size=65536M"]


def test_a_cell_with_cpus_here_and_there_names_each_run() -> None:
    apart = replace(cell(0, host_node=0, first_vcpu=0, vcpus=2), vcpus=[0, 1, 4])

    plan = replace(a800_two_gpus(), cells=[apart])

    assert _values(plan, "-numa") == ["node,nodeid=0,memdev=ram0,cpus=0-1,cpus=4"]


def test_a_cell_without_cpus_names_none() -> None:
    bare = replace(cell(1, host_node=1, first_vcpu=0, vcpus=0), distances=[])
    plan = a800_two_gpus()

    values = _values(replace(plan, cells=[replace(plan.cells[0], distances=[]), bare]), "-numa")

    assert values == ["node,nodeid=0,memdev=ram0,cpus=0-7", "node,nodeid=1,memdev=ram1"]


def test_devices_are_as_planned() -> None:
    assert _values(two_gpus_on_ports(), "-device") == [
        "pxb-pcie,id=pxb0,bus=pcie.0,addr=0x8.0x0,bus_nr=32,numa_node=0",
        "pcie-root-port,id=rp0,bus=pxb0,addr=0x0.0x0,chassis=1,slot=1",
        "pcie-root-port,id=rp1,bus=pxb0,addr=0x1.0x0,chassis=2,slot=2",
        "pcie-root-port,id=rp2,bus=pxb0,addr=0x2.0x0,chassis=3,slot=3",
        "pcie-root-port,id=rp3,bus=pxb0,addr=0x3.0x0,chassis=4,slot=4",
        "vfio-pci,host=0000:23:00.0,id=gpu0,bus=rp0,addr=0x0.0x0",
        "vfio-pci,host=0000:24:00.0,id=gpu1,bus=rp1,addr=0x0.0x0",
        "vfio-pci,host=0000:25:00.0,id=nic0,bus=rp2,addr=0x0.0x0",
        "vfio-pci,host=0000:26:00.0,id=nic1,bus=rp3,addr=0x0.0x0",
    ]


def test_a_link_is_a_property_of_its_root_port() -> None:
    (port,) = [value for value in _values(a800_two_gpus(), "-device") if "root-port" in value]

    assert port.endswith(",x-speed=16,x-width=16")


def test_a_vf_is_passed_by_its_own_address() -> None:
    assert "vfio-pci,host=0000:25:00.1,id=nic0,bus=dp1,addr=0x0.0x0" in _values(
        l20_one_gpu_and_a_vf(), "-device"
    )


def _with_companion(plan: Plan) -> Plan:
    audio = replace(
        plan.functions[0], name="gpu0-1", address="0000:23:00.1", function=1,
        guest_address="0000:23:00.1",
    )  # fmt: skip
    return replace(plan, functions=[*plan.functions, audio])


def test_functions_of_one_slot_are_one_device() -> None:
    values = _values(_with_companion(a800_two_gpus()), "-device")

    assert "vfio-pci,host=0000:23:00.0,id=gpu0,bus=dp0,addr=0x0.0x0,multifunction=on" in values
    assert "vfio-pci,host=0000:23:00.1,id=gpu0-1,bus=dp0,addr=0x0.0x1" in values


def test_root_ports_of_one_slot_are_one_device() -> None:
    plan = two_gpus_on_ports()
    bridges = [
        each if each.name != "rp1" else replace(each, device=0, function=1) for each in plan.bridges
    ]

    values = _values(replace(plan, bridges=bridges), "-device")

    assert values[1].startswith("pcie-root-port,id=rp0,bus=pxb0,addr=0x0.0x0,multifunction=on,")
    assert values[2].startswith("pcie-root-port,id=rp1,bus=pxb0,addr=0x0.0x1,chassis=")


def test_the_window_is_told_to_qemu_and_to_ovmf() -> None:
    plan = a800_two_gpus()
    with_ovmf = replace(plan, machine=replace(plan.machine, firmware=Firmware.OVMF))

    assert _values(plan, "-global") == ["q35-pcihost.pci-hole64-size=1048576M"]
    assert _values(plan, "-fw_cfg") == []
    assert _values(with_ovmf, "-fw_cfg") == ["name=opt/ovmf/X-PciMmio64Mb,string=1048576"]


def test_a_comma_in_a_name_is_doubled() -> None:
    plan = a800_two_gpus()

    named = replace(plan, machine=replace(plan.machine, name="a,b"))

    assert _values(named, "-name") == ["guest=a,,b,debug-threads=on"]


@pytest.mark.parametrize(
    ("vcpus", "machine"),
    [(255, "q35,accel=kvm"), (256, "q35,accel=kvm,kernel-irqchip=split")],
)
def test_more_cpus_than_8_bits_name_need_a_split_interrupt_chip(vcpus: int, machine: str) -> None:
    cells = [cell(0, host_node=0, first_vcpu=0, vcpus=vcpus)]

    plan = replace(a800_two_gpus(), cells=cells)

    assert _values(plan, "-machine") == [machine]
    assert _values(plan, "-machine", QemuOptions(Accelerator.TCG)) == ["q35,accel=tcg"]


def test_software_emulation_has_no_cpu_of_the_host() -> None:
    options = QemuOptions(Accelerator.TCG)

    assert _values(a800_two_gpus(), "-machine", options) == ["q35,accel=tcg"]
    assert _values(a800_two_gpus(), "-cpu", options) == ["max"]
    assert _values(a800_two_gpus(), "-cpu") == ["host,host-phys-bits=on"]


def _for(plan: Plan, qemu: str, backend: Backend = Backend.CONTAINER) -> Plan:
    return replace(plan, machine=replace(plan.machine, qemu=qemu, backend=backend))


def test_iommufd_is_an_object_that_each_function_names() -> None:
    plan = _for(a800_two_gpus(), "9.0", Backend.IOMMUFD)

    passed = [value for value in _values(plan, "-device") if value.startswith("vfio-pci")]

    assert _values(plan, "-object")[0] == "iommufd,id=iommufd0"
    assert all(value.endswith(",iommufd=iommufd0") for value in passed)


@pytest.mark.parametrize("qemu", ["7.2", "8.2"])
def test_iommufd_is_refused_before_qemu_9(qemu: str) -> None:
    with pytest.raises(BadInputError, match="knows no iommufd") as error:
        check_needs(_for(a800_two_gpus(), qemu, Backend.IOMMUFD))

    assert "--qemu 9.0" in error.value.hint


@pytest.mark.parametrize("qemu", ["6.2", "7.1", "new", ""])
def test_what_is_no_qemu_from_7_2_on_is_refused(qemu: str) -> None:
    with pytest.raises(BadInputError, match="no QEMU from"):
        check_needs(_for(a800_two_gpus(), qemu))


def _clique(functions: list[Passed], *names: str, **changes: str) -> list[Passed]:
    return [
        replace(each, clique=0, **changes) if each.name in names else each for each in functions
    ]


def test_a_clique_is_a_property_of_its_gpus() -> None:
    plan = _for(a800_two_gpus(), "8.1")
    plan = replace(plan, functions=_clique(plan.functions, "gpu0", "gpu1"))

    of_clique = [value for value in _values(plan, "-device") if "clique" in value]

    assert [value.split(",")[2] for value in of_clique] == ["id=gpu0", "id=gpu1"]
    assert all(value.endswith(",x-nv-gpudirect-clique=0") for value in of_clique)


@pytest.mark.parametrize(
    ("names", "changes", "qemu", "said"),
    [
        pytest.param(
            ["gpu0"], {}, "8.1", "two NVIDIA GPUs or more, and this has 1 of 1", id="one GPU"
        ),
        pytest.param(["gpu0", "nic0"], {}, "8.1", "has 1 of 2", id="a NIC"),
        pytest.param(
            ["gpu0", "gpu1"], {"class_code": "0x068000"}, "8.1", "has 0 of 2", id="an NVSwitch"
        ),
        pytest.param(["gpu0", "gpu1"], {}, "8.0", "has no place for a clique in gpu0", id="Ampere"),
        pytest.param(["gpu0", "gpu1"], {"id": "10de:1e02"}, "7.2", "has no place", id="Turing"),
    ],
)
def test_a_clique_that_does_not_work_is_refused(
    names: list[str], changes: dict[str, str], qemu: str, said: str
) -> None:
    plan = _for(a800_two_gpus(), qemu)

    with pytest.raises(BadInputError, match=said):
        check_needs(replace(plan, functions=_clique(plan.functions, *names, **changes)))


def test_older_gpus_may_be_in_a_clique_of_older_qemu() -> None:
    plan = _for(a800_two_gpus(), "7.2")

    check_needs(replace(plan, functions=_clique(plan.functions, "gpu0", "gpu1", id="10de:1db6")))
