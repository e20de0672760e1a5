from dataclasses import replace

import pytest
from model.functions import NIC, function

from pcietune.model.function import FunctionState
from pcietune.model.profile import FunctionPattern

IDLE = FunctionState(
    group=1,
    iommu_unit="dmar0",
    numa_node=0,
    enable_count=0,
    physical_function=None,
    virtual_functions=(),
    vfio=True,
)


def test_bound_to_vfio_is_not_yet_in_use() -> None:
    assert not IDLE.in_use_by_vfio


def test_in_use_is_enabled_below_a_vfio_driver() -> None:
    assert replace(IDLE, enable_count=1).in_use_by_vfio


def test_enabled_by_its_own_driver_is_no_use_by_vfio() -> None:
    assert not replace(IDLE, vfio=False, enable_count=1).in_use_by_vfio


def test_an_unreadable_enable_count_counts_as_use() -> None:
    assert replace(IDLE, enable_count=None).in_use_by_vfio


def test_a_location_is_the_root_ports_address_and_the_hops_below() -> None:
    assert function("20:01.0 21:00.0 22:04.0 24:00.1", NIC).location == (
        "0000:20:01.0/00.0/04.0/00.1"
    )


@pytest.mark.parametrize(
    ("class_code", "pci_bridge", "host_bridge"),
    [
        pytest.param(0x060400, True, False, id="PCI bridge"),
        pytest.param(0x060000, False, True, id="host bridge"),
        pytest.param(0x068000, False, False, id="NVSwitch"),
        pytest.param(0x060100, False, False, id="ISA bridge"),
    ],
)
def test_classes_are_compared_whole(
    class_code: int, *, pci_bridge: bool, host_bridge: bool
) -> None:
    found = function("20:01.0", ("10de:22a3", class_code))

    assert (found.is_pci_bridge, found.is_host_bridge) == (pci_bridge, host_bridge)


@pytest.mark.parametrize(
    ("pattern", "fits"),
    [
        pytest.param(FunctionPattern(), False, id="nothing asked"),
        pytest.param(FunctionPattern(("15b3:101b",)), True, id="its id"),
        pytest.param(FunctionPattern(("15b3:*",)), True, id="its vendor"),
        pytest.param(FunctionPattern(("10de:*", "15b3:1017")), False, id="other ids"),
        pytest.param(FunctionPattern((), (0x0207,)), True, id="its class"),
        pytest.param(FunctionPattern(("15b3:*",), (0x0200,)), False, id="its id, another class"),
        pytest.param(FunctionPattern(("10de:*",), (0x0207,)), False, id="its class, another id"),
    ],
)
def test_a_pattern_asks_for_one_of_its_ids_and_one_of_its_classes(
    pattern: FunctionPattern, *, fits: bool
) -> None:
    assert pattern.matches(function("24:00.0", NIC)) is fits
