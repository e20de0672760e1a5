from dataclasses import replace
from pathlib import Path

import pytest
from trees.config import ENDPOINT, ConfigBuilder
from trees.function import Function, nic, nvswitch, root_port
from trees.host import TreeHost
from trees.machines import one_switch
from tune.judged import NIC, NIC_PORT
from tune.paths_hosts import labels, pair, undescribed, viewed
from tune.profiles import PROFILE

from pcietune.address import PciAddress
from pcietune.model.function import PciFunction
from pcietune.model.profile import Attach, ModeName
from pcietune.model.role_name import RoleName
from pcietune.model.trace import Outcome
from pcietune.tune.paths.pairs import Look
from pcietune.tune.paths.peers import kind_of
from pcietune.tune.paths.view import PeerKind

GIVES_VFS = replace(
    PROFILE,
    roles={**PROFILE.roles, RoleName.NIC: replace(PROFILE.roles[RoleName.NIC], attach=Attach.VF)},
)


def endpoint(address: str, function_id: str, class_code: int, below: str) -> Function:
    config = ConfigBuilder(function_id, class_code).express(ENDPOINT)
    return Function(address, config, below=below)


def with_vfs(root: Path, count: int, *, driver: str | None = None, ats: int = 0x8000) -> TreeHost:
    """Return the host of one switch whose NIC has VFs, in a group each."""
    tree = one_switch(root)
    for number in range(1, count + 1):
        function = nic(f"0000:24:00.{number}", below=NIC_PORT, driver=driver, ats=(0x0020, ats))
        group = 10 + number
        tree.add(replace(function, physical_function=NIC, group=group, iommu="dmar0"))
    return tree


@pytest.mark.parametrize(
    ("function_id", "device_class", "kind"),
    [
        ("10de:20f3", 0x0302, PeerKind.GPU),
        ("1002:740f", 0x0380, PeerKind.GPU),
        ("15b3:101b", 0x0207, PeerKind.NIC),
        ("15b3:101d", 0x0200, PeerKind.NIC),
        ("14e4:1750", 0x0200, PeerKind.NIC),  # BCM57508
        ("14e4:165f", 0x0200, None),  # BCM5720, a board's own 1G ports
        ("8086:1593", 0x0200, PeerKind.NIC),  # E810-C
        ("8086:1521", 0x0200, None),  # I350
        ("1d0f:efa1", 0x0200, PeerKind.NIC),
        ("1d0f:ec20", 0x0200, None),  # ENA
        ("144d:a80a", 0x0108, PeerKind.NVME),
        ("1a03:2000", 0x0300, None),  # a BMC's VGA
        ("10de:1aef", 0x0403, None),  # a GPU's sound
        ("10de:1af1", 0x0680, None),  # NVSwitch
        ("15b3:1979", 0x0604, None),  # a bridge within a BlueField
    ],
)
def test_what_takes_part_is_told_by_class_and_vendor(
    function_id: str, device_class: int, kind: PeerKind | None
) -> None:
    vendor, device = (int(number, 16) for number in function_id.split(":"))
    address = PciAddress.parse("0000:01:00.0")
    function = PciFunction(address, (), vendor, device, 0, 0, device_class << 8, None)

    assert kind_of(function) is kind


def test_a_role_comes_before_the_class() -> None:
    function = PciFunction(
        PciAddress.parse("0000:01:00.0"), (), 0x8086, 0x1521, 0, 0, 0x020000, None
    )

    assert kind_of(function, RoleName.NIC) is PeerKind.NIC


def test_gpus_come_first_then_nics_then_drives_in_the_order_of_addresses(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    tree.add(
        root_port("0000:10:01.0"),
        endpoint("0000:11:00.0", "144d:a80a", 0x010802, "0000:10:01.0"),
        nvswitch("0000:12:00.0", below="0000:10:01.0"),
    )

    view = undescribed(tree)

    assert labels(view) == ["GPU0", "NIC0", "NVME0"]
    assert {(p.one.label, p.other.label) for p in view.pairs.values()} == {
        ("NIC0", "GPU0"),
        ("NVME0", "GPU0"),
    }


def test_a_nic_on_another_socket_than_any_gpu_takes_part(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    far = nic("0000:81:00.0", below="0000:80:01.0")
    far.attributes["numa_node"] = "1"
    tree.add(root_port("0000:80:01.0"), far)

    found = pair(viewed(tree, ModeName.VM), "0000:81:00.0", "GPU0")

    assert (found.one.label, found.one.numa_node, found.place) == ("NIC1", 1, "SYS")


def test_vfs_that_send_as_their_pf_does_are_folded_into_it(tmp_path: Path) -> None:
    view = undescribed(with_vfs(tmp_path, 3))

    assert labels(view) == ["GPU0", "NIC0"]
    assert pair(view, "NIC0", "GPU0").one.virtual_functions == 3


def test_vfs_that_vms_have_stand_beside_the_pf_that_the_host_has(tmp_path: Path) -> None:
    view = undescribed(with_vfs(tmp_path, 3, driver="vfio-pci"))

    assert labels(view) == ["GPU0", "NIC0", "NIC0v0"]
    assert pair(view, "NIC0v0", "GPU0").one.virtual_functions == 2


def test_each_vf_stands_for_itself_if_asked_for(tmp_path: Path) -> None:
    view = undescribed(with_vfs(tmp_path, 2), Look(vfs=True))

    assert labels(view) == ["GPU0", "NIC0", "NIC0v0", "NIC0v1"]


def test_a_vf_that_lost_its_ats_stands_for_itself(tmp_path: Path) -> None:
    tree = with_vfs(tmp_path, 2)
    lost = nic("0000:24:00.3", below=NIC_PORT, ats=(0x0020, 0))
    tree.add(replace(lost, physical_function=NIC, group=13, iommu="dmar0"))

    assert labels(viewed(tree, ModeName.VM)) == ["GPU0", "NIC0", "NIC0v2"]


def test_where_vfs_go_to_vms_they_are_what_the_profile_is_about(tmp_path: Path) -> None:
    view = viewed(with_vfs(tmp_path, 2), ModeName.VM, profile=GIVES_VFS)

    handed_over = pair(view, "NIC0v0", "GPU0")
    assert handed_over.once is not None
    assert handed_over.once.forth.write.outcome is Outcome.DIRECT
    kept = pair(view, "NIC0", "GPU0")
    assert kept.now.forth.sender.address == "I/O virtual, the kernel's"
