"""IOMMU units and groups."""

from dataclasses import replace
from pathlib import Path

import pytest
from trees.config import ENDPOINT, ConfigBuilder
from trees.function import Function, gpu, nic
from trees.host import TreeHost

from pcietune.address import PciAddress
from pcietune.host.host_files import HostFiles
from pcietune.host.iommu import read_groups, read_units
from pcietune.model.platform import IommuGroup, IommuKind

WITH_IOTLB = 0x1F03000F
WITHOUT_IOTLB = 0x1E03000F


def _files(root: Path) -> HostFiles:
    return HostFiles(root, recorded=False)


@pytest.mark.parametrize(
    ("ecap", "device_tlb"),
    [
        pytest.param("f050de", True, id="bit 2 set"),
        pytest.param("f050da", False, id="bit 2 clear"),
        pytest.param("29ee5ebf", True, id="an Ice Lake server's"),
        pytest.param("what", None, id="no number"),
    ],
)
def test_an_intel_unit_has_a_device_tlb_by_bit_2_of_ecap(
    tmp_path: Path, ecap: str, *, device_tlb: bool | None
) -> None:
    host = TreeHost(tmp_path)
    host.intel_iommu("dmar0")
    host.put("sys/devices/virtual/iommu/dmar0/intel-iommu/ecap", ecap)

    units = read_units(_files(tmp_path))

    assert {name: (unit.kind, unit.device_tlb) for name, unit in units.items()} == {
        "dmar0": (IommuKind.INTEL, device_tlb)
    }


@pytest.mark.parametrize(
    ("ecap", "scalable"),
    [
        pytest.param("8000000f0de", True, id="bit 43 set"),
        pytest.param("7fffff050de", False, id="bit 43 clear"),
        pytest.param("what", None, id="no number"),
    ],
)
def test_an_intel_unit_is_capable_of_scalable_mode_by_bit_43_of_ecap(
    tmp_path: Path, ecap: str, *, scalable: bool | None
) -> None:
    host = TreeHost(tmp_path)
    host.intel_iommu("dmar0")
    host.put("sys/devices/virtual/iommu/dmar0/intel-iommu/ecap", ecap)

    assert read_units(_files(tmp_path))["dmar0"].scalable is scalable


def test_intel_units_are_judged_each_for_itself(tmp_path: Path) -> None:
    host = TreeHost(tmp_path)
    host.intel_iommu("dmar0")
    host.intel_iommu("dmar1", device_tlb=False)

    units = read_units(_files(tmp_path))

    assert (units["dmar0"].device_tlb, units["dmar1"].device_tlb) == (True, False)


@pytest.mark.parametrize(
    ("second", "device_tlb"),
    [
        pytest.param(WITH_IOTLB, True, id="all units have it"),
        pytest.param(WITHOUT_IOTLB, False, id="one lacks it"),
    ],
)
def test_amd_units_have_device_tlbs_only_if_all_have(
    tmp_path: Path, second: int, *, device_tlb: bool
) -> None:
    host = TreeHost(tmp_path)
    for number, cap in enumerate((WITH_IOTLB, second)):
        address = f"0000:{number:02x}:00.2"
        host.add(Function(address, ConfigBuilder("1022:164f", 0x080600).express(ENDPOINT)))
        host.amd_iommu(f"ivhd{number}", below=address, cap=cap)

    units = read_units(_files(tmp_path))

    assert {unit.kind for unit in units.values()} == {IommuKind.AMD}
    assert [unit.device_tlb for unit in units.values()] == [device_tlb, device_tlb]


@pytest.mark.parametrize("name", ["smmu3.0x0000000040000000", "smmu3"])
def test_an_arm_unit_does_not_say_whether_it_has_a_device_tlb(tmp_path: Path, name: str) -> None:
    TreeHost(tmp_path).arm_iommu(name)

    (unit,) = read_units(_files(tmp_path)).values()

    assert (unit.kind, unit.device_tlb) == (IommuKind.ARM, None)


def test_linux_has_no_ats_for_what_came_before_smmu_v3(tmp_path: Path) -> None:
    TreeHost(tmp_path).arm_iommu("smmu.0x0000000040000000")

    (unit,) = read_units(_files(tmp_path)).values()

    assert (unit.kind, unit.device_tlb) == (IommuKind.ARM, False)


def test_a_group_has_the_members_that_the_kernel_links(tmp_path: Path) -> None:
    host = TreeHost(tmp_path)
    host.add(replace(nic("0000:0b:00.0"), group=12), replace(gpu("0000:0a:00.0"), group=12))
    host.group_type(12, "identity")

    groups = read_groups(_files(tmp_path))

    members = (PciAddress.parse("0000:0a:00.0"), PciAddress.parse("0000:0b:00.0"))
    assert groups == {12: IommuGroup(12, "identity", members)}
    assert groups[12].translates is False


def test_a_group_that_vfio_made_without_an_iommu_is_known_by_its_name(tmp_path: Path) -> None:
    host = TreeHost(tmp_path)
    host.add(replace(nic("0000:0b:00.0"), group=0))
    host.put("sys/kernel/iommu_groups/0/name", "vfio-noiommu\n")

    assert (read_groups(_files(tmp_path)) or {})[0].is_without_iommu


def test_groups_come_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    host = TreeHost(tmp_path)
    for number in (10, 9, 100):
        host.group_type(number, "DMA")

    assert list(read_groups(_files(tmp_path)) or ()) == [9, 10, 100]


def test_a_member_that_is_no_pci_function_is_passed_over(tmp_path: Path) -> None:
    host = TreeHost(tmp_path)
    host.add(replace(nic("0000:0b:00.0"), group=3))
    host.link("sys/kernel/iommu_groups/3/devices/arm-smmu.1", "sys/devices/platform/arm-smmu.1")

    (group,) = (read_groups(_files(tmp_path)) or {}).values()

    assert group.members == (PciAddress.parse("0000:0b:00.0"),)
