"""What sysfs says of one function's state."""

from dataclasses import replace
from pathlib import Path

import pytest
from trees.config import ENDPOINT, ConfigBuilder
from trees.function import Function, gpu, nic
from trees.host import TreeHost
from trees.machines import one_switch

from pcietune.address import PciAddress
from pcietune.errors import ConfigSpaceError, ExitCode
from pcietune.host.function_state import read_link, read_state
from pcietune.host.host_files import HostFiles
from pcietune.model.function import FunctionState, LinkState

NIC = "0000:0b:00.0"
VF = "0000:0b:00.1"


def _state(host: TreeHost, address: str) -> FunctionState:
    path = str(host.directory(address).relative_to(host.root.resolve()))
    return read_state(HostFiles(host.root, recorded=False), path, PciAddress.parse(address))


def _link(host: TreeHost, address: str) -> LinkState:
    path = str(host.directory(address).relative_to(host.root.resolve()))
    return read_link(HostFiles(host.root, recorded=False), path, PciAddress.parse(address))


def test_group_unit_node_and_use_are_read(tmp_path: Path) -> None:
    host = one_switch(tmp_path)

    state = _state(host, "0000:24:00.0")

    assert (state.group, state.iommu_unit, state.numa_node) == (5, "dmar0", 0)
    assert state.enable_count == 0
    assert _link(host, "0000:24:00.0") == LinkState("16.0 GT/s PCIe", 16, "16.0 GT/s PCIe", 16)


def test_without_an_iommu_there_is_no_group_and_no_unit(tmp_path: Path) -> None:
    host = TreeHost(tmp_path)
    host.add(nic(NIC))

    state = _state(host, NIC)

    assert (state.group, state.iommu_unit) == (None, None)


def test_a_link_that_is_down_has_no_speed_and_no_width(tmp_path: Path) -> None:
    down = {"current_link_speed": "Unknown", "current_link_width": "0"}
    host = TreeHost(tmp_path)
    host.add(replace(nic(NIC), attributes=down))

    link = _link(host, NIC)

    assert (link.speed, link.width) == (None, None)
    assert (link.max_speed, link.max_width) == ("16.0 GT/s PCIe", 16)


@pytest.mark.parametrize("speed", ["", "fast", "nan GT/s", "16.0", "-1 GT/s", "16.0 GT/s PCIe x"])
@pytest.mark.parametrize("width", ["", "-1", "33", "63", "x16", "9" * 30])
def test_a_link_that_makes_no_sense_is_not_known(tmp_path: Path, speed: str, width: str) -> None:
    names = ("current_link_speed", "max_link_speed", "current_link_width", "max_link_width")
    host = TreeHost(tmp_path)
    host.add(
        replace(nic(NIC), attributes=dict(zip(names, (speed, speed, width, width), strict=True)))
    )

    assert _link(host, NIC) == LinkState(None, None, None, None)


def test_a_virtual_function_names_its_physical_one_and_has_no_link(tmp_path: Path) -> None:
    host = _with_one_vf(tmp_path)

    state = _state(host, VF)

    assert state.physical_function == PciAddress.parse(NIC)
    assert _link(host, VF) == LinkState(None, None, None, None)


def test_a_physical_function_names_its_virtual_ones(tmp_path: Path) -> None:
    host = _with_one_vf(tmp_path)

    state = _state(host, NIC)

    assert state.virtual_functions == (PciAddress.parse(VF),)
    assert state.physical_function is None


@pytest.mark.parametrize(
    ("driver", "enable", "in_use"),
    [
        pytest.param("vfio-pci", "1", True, id="a VM holds it open"),
        pytest.param("vfio-pci", "0", False, id="bound but idle"),
        pytest.param("mlx5_core", "1", False, id="a native driver"),
    ],
)
def test_vfio_uses_what_it_made_a_device_of_and_enabled(
    tmp_path: Path, driver: str, enable: str, *, in_use: bool
) -> None:
    host = TreeHost(tmp_path)
    host.add(replace(gpu("0000:0a:00.0", driver=driver), attributes={"enable": enable}))

    assert _state(host, "0000:0a:00.0").in_use_by_vfio is in_use


@pytest.mark.parametrize(
    ("driver", "given"),
    [("vfio-pci", True), ("mlx5_vfio_pci", True), ("mlx5_core", False), (None, False)],
)
def test_before_6_1_the_name_of_a_driver_tells_whether_vfio_has_the_function(
    tmp_path: Path, driver: str | None, *, given: bool
) -> None:
    host = TreeHost(tmp_path)
    function = replace(nic(NIC, driver=driver), vfio=False, attributes={"enable": "1"})
    host.add(function)

    assert _state(host, NIC).in_use_by_vfio is given


def test_what_an_old_kernel_lacks_is_unknown(tmp_path: Path) -> None:
    host = TreeHost(tmp_path)
    host.add(nic(NIC))
    for name in ("numa_node", "enable", "max_link_width"):
        (host.directory(NIC) / name).unlink()

    state = _state(host, NIC)

    assert (state.numa_node, state.enable_count) == (-1, None)
    assert _link(host, NIC).max_width is None


def test_the_directory_of_an_amd_iommu_is_not_taken_for_a_link_to_one(tmp_path: Path) -> None:
    host = TreeHost(tmp_path)
    host.add(Function("0000:00:00.2", ConfigBuilder("1022:164f", 0x080600).express(ENDPOINT)))
    host.amd_iommu("ivhd0", below="0000:00:00.2", cap=0x1F03000F)

    assert _state(host, "0000:00:00.2").iommu_unit is None


def test_a_function_that_vanished_is_said_to_have(tmp_path: Path) -> None:
    files = HostFiles(tmp_path, recorded=False)

    with pytest.raises(ConfigSpaceError) as raised:
        read_state(files, "sys/devices/pci0000:00/0000:0b:00.0", PciAddress.parse(NIC))

    assert str(raised.value) == "0000:0b:00.0 vanished while it was looked at"
    assert raised.value.exit_code == ExitCode.UNREADABLE


def _with_one_vf(root: Path) -> TreeHost:
    host = TreeHost(root)
    virtual = replace(nic(VF), physical_function=NIC)
    host.add(nic(NIC), virtual)
    return host
