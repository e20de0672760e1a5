"""Mediated devices, as drivers/vfio/mdev shows them."""

from pathlib import Path

from trees.machines import one_switch

from pcietune.address import PciAddress
from pcietune.host.host_files import HostFiles
from pcietune.host.mdevs import read_mdevs

UUID = "83b8f4f2-509f-382f-3c1e-e6bfe0fa1001"


def test_a_mediated_device_is_its_functions(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    path = tree.directory("0000:23:00.0").relative_to(tree.root.resolve())
    (tree.root / path / UUID).mkdir()
    tree.link(f"sys/bus/mdev/devices/{UUID}", f"{path}/{UUID}")

    found = read_mdevs(HostFiles(tree.root, recorded=True))

    assert found == {PciAddress.parse("0000:23:00.0"): [UUID]}


def test_a_mediated_device_of_what_is_no_function_is_nobodys(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    tree.link(f"sys/bus/mdev/devices/{UUID}", f"sys/devices/virtual/mtty/mtty/{UUID}")

    assert read_mdevs(HostFiles(tree.root, recorded=True)) == {}


def test_a_host_without_the_bus_has_none(tmp_path: Path) -> None:
    assert read_mdevs(HostFiles(one_switch(tmp_path).root, recorded=True)) == {}
