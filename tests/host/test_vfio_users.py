"""Where the links in /proc/PID/fd lead: Documentation/driver-api/vfio.rst."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from host.hindered import as_nobody
from trees.host import TreeHost
from trees.machines import one_switch
from tune.judged import GPU, NIC

from pcietune.address import PciAddress
from pcietune.host.host_files import HostFiles
from pcietune.host.uses.vfio_users import vfio_users
from pcietune.model.vfio_user import VfioUser

BOTH = [PciAddress.parse(GPU), PciAddress.parse(NIC)]
GPU_GROUP, NIC_GROUP = 4, 5  # of one_switch, in the order of addresses


def _process(tree: TreeHost, pid: int, name: str, *nodes: str) -> Path:
    tree.put(f"proc/{pid}/comm", name)
    descriptors = tree.root / f"proc/{pid}/fd"
    descriptors.mkdir()
    for number, node in enumerate(nodes):
        (descriptors / str(number)).symlink_to(node)
    return descriptors


def _users(tree: TreeHost) -> dict[str, VfioUser]:
    found = vfio_users(HostFiles(tree.root, recorded=False), BOTH)
    return {str(address): user for address, user in found.items()}


def test_who_has_the_group_open_has_its_functions(tmp_path: Path) -> None:
    tree = one_switch(tmp_path, driver="vfio-pci")
    _process(tree, 4242, "qemu-system-x86", "/dev/vfio/vfio", f"/dev/vfio/{GPU_GROUP}")
    _process(tree, 1, "systemd", "/dev/null")

    assert _users(tree) == {GPU: VfioUser(4242, "qemu-system-x86", iommufd=False)}


def test_who_has_its_own_node_open_uses_iommufd(tmp_path: Path) -> None:
    tree = one_switch(tmp_path, driver="vfio-pci")
    for number, address in enumerate((GPU, NIC)):
        (tree.directory(address) / "vfio-dev/vfio0").rename(
            tree.directory(address) / f"vfio-dev/vfio{number}"
        )
    _process(tree, 77, "cloud-hyperviso", "/dev/iommu", "/dev/vfio/devices/vfio1")

    assert _users(tree) == {NIC: VfioUser(77, "cloud-hyperviso", iommufd=True)}


def test_a_kernel_before_vfio_dev_has_groups_alone(tmp_path: Path) -> None:
    tree = one_switch(tmp_path, driver="pci-stub")  # which makes no vfio-dev in the tree
    _process(tree, 9, "qemu", f"/dev/vfio/{NIC_GROUP}")

    assert list(_users(tree)) == [NIC]


def test_of_two_that_have_it_the_first_stands_for_both(tmp_path: Path) -> None:
    tree = one_switch(tmp_path, driver="vfio-pci")
    for pid in (900, 90):
        _process(tree, pid, "qemu", f"/dev/vfio/{GPU_GROUP}")

    assert _users(tree)[GPU].pid == 90


def test_who_may_not_be_looked_at_is_left_out() -> None:
    with TemporaryDirectory() as directory:
        Path(directory).chmod(0o755)
        tree = one_switch(Path(directory), driver="vfio-pci")
        closed = _process(tree, 8, "qemu", f"/dev/vfio/{GPU_GROUP}")
        closed.chmod(0)
        with as_nobody():
            found = _users(tree)
        closed.chmod(0o755)

    assert found == {}


@pytest.mark.parametrize(
    ("iommufd", "release", "maps"),
    [
        (False, None, True),
        (False, (5, 15), True),
        (True, (6, 19), False),
        (True, (7, 0), True),
        (True, None, None),
    ],
)
def test_iommufd_maps_peers_since_linux_7(
    *, iommufd: bool, release: tuple[int, int] | None, maps: bool | None
) -> None:
    assert VfioUser(1, "qemu", iommufd=iommufd).maps_peers(release) is maps
