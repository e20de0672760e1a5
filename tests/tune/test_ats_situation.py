"""What a function's ATS is judged by, from what sysfs and the kernel command line say."""

from dataclasses import replace

import pytest
from model.functions import NIC, function

from pcietune.model.function import FunctionState
from pcietune.model.not_known import NOT_KNOWN
from pcietune.model.platform import IommuGroup, IommuKind, IommuUnit, Lockdown, Platform
from pcietune.tune.ats.situation import Domain, Iommu, Situation, Use, situation

IDLE = FunctionState(
    group=5,
    iommu_unit="unit",
    numa_node=0,
    enable_count=0,
    physical_function=None,
    virtual_functions=(),
    vfio=False,
)
NO_DRIVER = function("20:01.0 24:00.0", NIC)


def platform(
    unit: IommuUnit | None = None, *, kind: str | None = "identity", cmdline: str = "ro"
) -> Platform:
    return Platform(
        dmi={},
        kernel="6.12.0",
        boot_id=None,
        cmdline=cmdline,
        lockdown=Lockdown.NONE,
        iommu_units={} if unit is None else {"unit": unit},
        groups={5: IommuGroup(5, kind, (NO_DRIVER.address,))},
    )


def found(host: Platform, state: FunctionState = IDLE) -> Situation:
    return situation(host, NO_DRIVER, state, enabled=False, proved=False)


@pytest.mark.parametrize(
    ("scalable", "cmdline", "iommu"),
    [
        pytest.param(False, "intel_iommu=on", Iommu.INTEL_LEGACY, id="not capable of it"),
        pytest.param(False, "intel_iommu=sm_on", Iommu.INTEL_LEGACY, id="asked for in vain"),
        pytest.param(True, "intel_iommu=on,sm_on", Iommu.INTEL_SCALABLE, id="asked for"),
        pytest.param(True, "intel_iommu=sm_off", Iommu.INTEL_LEGACY, id="refused"),
        pytest.param(
            True, "intel_iommu=sm_off intel_iommu=sm_on", Iommu.INTEL_SCALABLE, id="the last word"
        ),
        pytest.param(True, "intel_iommu=on", Iommu.INTEL, id="the kernel's default"),
        pytest.param(None, "intel_iommu=sm_on", Iommu.INTEL, id="its registers not readable"),
        pytest.param(None, "intel_iommu=sm_off", Iommu.INTEL_LEGACY, id="refused, whatever it is"),
    ],
)
def test_an_intel_iommu_has_two_modes(scalable: bool | None, cmdline: str, iommu: Iommu) -> None:  # noqa: FBT001 -- of pytest's parameters
    unit = IommuUnit("unit", IommuKind.INTEL, device_tlb=True, scalable=scalable)

    assert found(platform(unit, cmdline=cmdline)).iommu is iommu


@pytest.mark.parametrize(
    ("kind", "iommu"),
    [
        (IommuKind.AMD, Iommu.AMD),
        (IommuKind.ARM, Iommu.SMMU_V3),
        (IommuKind.OTHER, Iommu.OTHER),
    ],
)
def test_others_differ_by_their_family(kind: IommuKind, iommu: Iommu) -> None:
    assert found(platform(IommuUnit("unit", kind, device_tlb=True))).iommu is iommu


def test_an_iommu_that_is_not_named_is_not_known() -> None:
    assert found(platform()).iommu is Iommu.UNKNOWN


@pytest.mark.parametrize(
    ("kind", "domain"),
    [
        ("DMA", Domain.TRANSLATING),
        ("DMA-FQ", Domain.TRANSLATING),
        ("identity", Domain.IDENTITY),
        ("blocked", Domain.BLOCKED),
        ("unmanaged", Domain.OTHER),
        ("unknown", Domain.OTHER),
        (None, Domain.UNKNOWN),
    ],
)
def test_a_domain_is_what_its_group_says(kind: str | None, domain: Domain) -> None:
    assert found(platform(kind=kind)).domain is domain


@pytest.mark.parametrize(
    ("state", "domain"),
    [
        pytest.param(replace(IDLE, group=None), Domain.NONE, id="no group"),
        pytest.param(replace(IDLE, group=NOT_KNOWN), Domain.UNKNOWN, id="a dump"),
        pytest.param(replace(IDLE, group=6), Domain.UNKNOWN, id="a group that is gone"),
    ],
)
def test_without_a_group_there_is_no_domain(state: FunctionState, domain: Domain) -> None:
    assert found(platform(), state).domain is domain


@pytest.mark.parametrize(
    ("driver", "vfio", "enable_count", "use"),
    [
        pytest.param(None, False, 0, Use.NO_DRIVER, id="nobody"),
        pytest.param("mlx5_core", False, 1, Use.OWN_DRIVER, id="its driver"),
        pytest.param("vfio-pci", True, 0, Use.VFIO_IDLE, id="bound"),
        pytest.param("vfio-pci", True, 1, Use.VFIO_USED, id="open"),
        pytest.param("vfio-pci", True, None, Use.UNKNOWN, id="bound, perhaps open"),
        pytest.param(NOT_KNOWN, None, None, Use.UNKNOWN, id="a dump"),
        pytest.param("mlx5_core", None, None, Use.UNKNOWN, id="a dump that tells the driver"),
    ],
)
def test_who_has_a_function_is_told_by_its_driver_and_by_vfio(
    driver: str | None, use: Use, enable_count: int | None, *, vfio: bool | None
) -> None:
    state = replace(IDLE, vfio=vfio, enable_count=enable_count)
    who = replace(NO_DRIVER, driver=driver)

    assert situation(platform(), who, state, enabled=False, proved=False).use is use
