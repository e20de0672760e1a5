"""IOMMU units and groups, as the kernel shows them."""

from collections.abc import Mapping
from dataclasses import replace

from pcietune.address import PciAddress
from pcietune.errors import BadInputError
from pcietune.host.host_files import HostFiles
from pcietune.model.platform import IommuGroup, IommuKind, IommuUnit
from pcietune.registers.fields import BitField

UNITS = "sys/class/iommu"
GROUPS = "sys/kernel/iommu_groups"
_INTEL_DEVICE_TLB = BitField(2)  # of the Extended Capability Register (DT)
_INTEL_SCALABLE_MODE = BitField(43)  # of the same (SMTS; ecap_smts, drivers/iommu/intel/iommu.h)
_AMD_IOTLB_SUPPORT = BitField(24)  # of the capability header (IotlbSup)
_SMMU = "smmu"  # then a dot and its address: arm_smmu_device_probe, drivers/iommu/arm/arm-smmu/
_SMMU_V3 = "smmu3"  # alike, drivers/iommu/arm/arm-smmu-v3/


def read_units(files: HostFiles) -> Mapping[str, IommuUnit]:
    """Return the host's IOMMUs by name."""
    units = [_unit(files, name) for name in files.names(UNITS)]
    amd = [unit.device_tlb for unit in units if unit.kind is IommuKind.AMD]
    if False in amd:  # Linux uses what all units have (amd_iommu_iotlb_sup, amd/iommu.c)
        units = [
            replace(unit, device_tlb=False) if unit.kind is IommuKind.AMD else unit
            for unit in units
        ]
    return {unit.name: unit for unit in units}


def read_groups(files: HostFiles) -> Mapping[int, IommuGroup] | None:
    """Return the host's IOMMU groups by number; None if not known."""
    if not files.complete and not files.exists(GROUPS):
        return None
    numbers = sorted(int(name) for name in files.names(GROUPS) if name.isdecimal())
    return {number: _group(files, number) for number in numbers}


def _unit(files: HostFiles, name: str) -> IommuUnit:
    unit = f"{UNITS}/{name}"
    if files.is_directory(f"{unit}/intel-iommu"):
        register = _register(files, f"{unit}/intel-iommu/ecap")
        device_tlb = _bit(_INTEL_DEVICE_TLB, register)
        return IommuUnit(name, IommuKind.INTEL, device_tlb, _bit(_INTEL_SCALABLE_MODE, register))
    if files.is_directory(f"{unit}/amd-iommu"):
        register = _register(files, f"{unit}/amd-iommu/cap")
        return IommuUnit(name, IommuKind.AMD, _bit(_AMD_IOTLB_SUPPORT, register))
    family = name.partition(".")[0]
    if family == _SMMU:  # versions 1 and 2
        return IommuUnit(name, IommuKind.ARM, device_tlb=False)
    kind = IommuKind.ARM if family == _SMMU_V3 else IommuKind.OTHER
    return IommuUnit(name, kind, device_tlb=None)


def _register(files: HostFiles, path: str) -> int | None:
    """Return a register that the kernel prints in hex without 0x; None if unreadable."""
    text = files.text(path)
    try:
        return None if text is None else int(text, 16)
    except ValueError:
        return None


def _bit(field: BitField, register: int | None) -> bool | None:
    return None if register is None else bool(field.get(register))


def _group(files: HostFiles, number: int) -> IommuGroup:
    members = []
    for name in files.names(f"{GROUPS}/{number}/devices"):
        try:
            members.append(PciAddress.parse(name))
        except BadInputError:
            continue  # a platform device, as on ARM
    kind = files.text(f"{GROUPS}/{number}/type")
    called = files.text(f"{GROUPS}/{number}/name")
    return IommuGroup(number, kind, tuple(sorted(members)), called or None)
