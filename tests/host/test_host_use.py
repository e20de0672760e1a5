from pathlib import Path

import pytest
from trees import uses
from trees.host import TreeHost
from trees.machines import one_switch

from pcietune.address import PciAddress
from pcietune.errors import BadInputError
from pcietune.host.host_files import HostFiles
from pcietune.host.recordings.recording import record
from pcietune.host.source import open_host
from pcietune.host.sysfs import SysfsHost
from pcietune.model.protection import HostUse

NIC = PciAddress.parse("0000:24:00.0")
GPU = PciAddress.parse("0000:23:00.0")  # a function is a function: here it also carries disks
PRIVATE_MAC = "02:00:5e:77:88:99"


def live(tree: TreeHost) -> SysfsHost:
    return SysfsHost(HostFiles(tree.root, recorded=False))


def use_of(tree: TreeHost) -> HostUse:
    use = live(tree).use()
    assert use is not None
    return use


@pytest.fixture
def tree(tmp_path: Path) -> TreeHost:
    host = one_switch(tmp_path / "host")
    uses.mounts(host, "0:21 /proc proc proc")
    uses.routes(host)
    return host


def test_an_interface_is_that_of_its_function(tree: TreeHost) -> None:
    uses.interface(tree, "eno1", of=str(NIC))

    assert use_of(tree).interfaces == {"eno1": (NIC,)}


def test_behind_a_bridge_on_a_bond_are_the_functions_of_its_members(tree: TreeHost) -> None:
    uses.interface(tree, "eno1", of=str(NIC))
    uses.interface(tree, "eno2", of=str(GPU))
    uses.stacked_interface(tree, "bond0", "eno1", "eno2")
    uses.stacked_interface(tree, "br0", "bond0")

    assert use_of(tree).interfaces["br0"] == (GPU, NIC)


def test_what_has_no_function_behind_it_is_no_interface_of_one(tree: TreeHost) -> None:
    uses.stacked_interface(tree, "lo")

    assert use_of(tree).interfaces == {}


def test_only_a_route_to_everywhere_that_is_up_is_a_default_route(tree: TreeHost) -> None:
    uses.interface(tree, "eno1", of=str(NIC))
    uses.routes(
        tree,
        "eno1 00000000 0003 00000000",
        "eno2 0000000A 0001 00FFFFFF",
        "eno3 00000000 0001 000000FF",
        "eno4 00000000 0201 00000000",
    )

    assert use_of(tree).default_routes == ("eno1",)


def test_a_default_route_of_ipv6_counts_and_loopbacks_reject_does_not(tree: TreeHost) -> None:
    uses.interface(tree, "eno1", of=str(NIC))
    zero, gateway = "0" * 32, "fe80" + "0" * 27 + "1"
    rows = [
        f"{zero} 00 {zero} 00 {gateway} 00000400 00000001 00000000 00000003     eno1",
        f"{zero} 00 {zero} 00 {zero} ffffffff 00000001 00000000 00200200       lo",
    ]
    tree.put("proc/net/ipv6_route", "\n".join(rows))

    assert use_of(tree).default_routes == ("eno1",)


def test_a_default_route_behind_which_no_function_is_known_is_told(tree: TreeHost) -> None:
    uses.routes(tree, "br-ex 00000000 0003 00000000")

    assert use_of(tree).not_known == (
        "which function is behind br-ex, which has the default route",
    )


def test_a_mounted_partition_is_carried_by_the_disks_function(tree: TreeHost) -> None:
    uses.disk(tree, "nvme0n1", "259:0", of=str(NIC))
    path = (tree.root / "sys/class/block/nvme0n1").resolve().relative_to(tree.root.resolve())
    uses.block_device(tree, "nvme0n1p2", "259:2", f"{path}/nvme0n1p2")
    uses.mounts(tree, "259:2 / ext4 /dev/root", "259:2 /home/someone ext4 /dev/root")

    assert use_of(tree).disks == {NIC: ("/", "a mounted file system")}


def test_below_encryption_and_raid_are_the_functions_of_all_disks(tree: TreeHost) -> None:
    for name, number, function in (("nvme0n1", "259:0", NIC), ("nvme1n1", "259:1", GPU)):
        uses.disk(tree, name, number, of=str(function))
    for name, number, slaves in (
        ("md0", "9:0", ("nvme0n1", "nvme1n1")),
        ("dm-0", "253:0", ("md0",)),
    ):
        uses.block_device(tree, name, number, f"sys/devices/virtual/block/{name}")
        for slave in slaves:
            target = (tree.root / "sys/class/block" / slave).resolve(strict=True)
            tree.link(
                f"sys/devices/virtual/block/{name}/slaves/{slave}",
                str(target.relative_to(tree.root.resolve())),
            )
    uses.mounts(tree, "253:0 / xfs /dev/mapper/root")

    assert use_of(tree).disks == {GPU: ("/",), NIC: ("/",)}


def test_behind_a_namespace_of_several_paths_are_its_controllers(tree: TreeHost) -> None:
    subsystem = "sys/devices/virtual/nvme-subsystem/nvme-subsys0"
    controller = tree.directory(str(NIC)).relative_to(tree.root.resolve()) / "nvme/nvme0"
    tree.put(f"{controller}/transport", "pcie")
    tree.link(f"{subsystem}/nvme0", str(controller))
    uses.block_device(tree, "nvme0n1", "259:0", f"{subsystem}/nvme0n1")
    uses.block_device(tree, "nvme0n1p1", "259:1", f"{subsystem}/nvme0n1/nvme0n1p1")
    uses.mounts(tree, "259:1 /boot/efi vfat /dev/nvme0n1p1")

    assert use_of(tree).disks == {NIC: ("/boot/efi",)}


def test_a_file_system_without_numbers_is_found_by_its_devices_name(tree: TreeHost) -> None:
    uses.disk(tree, "nvme0n1", "259:0", of=str(NIC))
    uses.mounts(tree, "0:30 / btrfs /dev/nvme0n1")

    assert use_of(tree).disks == {NIC: ("/",)}


def test_swap_counts(tree: TreeHost) -> None:
    uses.disk(tree, "nvme0n1", "259:0", of=str(NIC))
    tree.put("proc/swaps", "Filename\tType\tSize\tUsed\tPriority\n/dev/nvme0n1 partition 1 0 -2")

    assert use_of(tree).disks == {NIC: ("swap",)}


def test_what_nobody_can_follow_is_told(tree: TreeHost) -> None:
    uses.mounts(tree, "0:40 / zfs rpool/ROOT/debian", "253:9 /var xfs /dev/mapper/gone")

    assert use_of(tree).not_known == (
        "which function carries /var, of 253:9",
        "which function carries /, of zfs rpool",
    )


def test_a_loop_device_needs_no_function(tree: TreeHost) -> None:
    uses.block_device(tree, "loop0", "7:0", "sys/devices/virtual/block/loop0")
    uses.mounts(tree, "7:0 /snap/core squashfs /dev/loop0")

    assert use_of(tree).not_known == ()


def test_a_host_without_procfs_tells_what_is_not_known(tmp_path: Path) -> None:
    assert use_of(one_switch(tmp_path)).not_known == (
        "which functions carry mounted disks: mounts are not readable",
        "which interface has the default route: routes are not readable",
    )


def test_mounts_of_more_than_a_page_are_read_to_the_end(tree: TreeHost) -> None:
    uses.disk(tree, "nvme0n1", "259:0", of=str(NIC))
    many = [f"0:{number} /run/pods/{number} tmpfs tmpfs" for number in range(5000)]
    uses.mounts(tree, *many, "259:0 / ext4 /dev/root")

    assert use_of(tree).disks == {NIC: ("/",)}


def test_slots_have_the_addresses_that_sysfs_says(tree: TreeHost) -> None:
    uses.slot(tree, "5", "0000:24:00")

    assert use_of(tree).slots == {"5": "0000:24:00"}


def test_a_member_of_a_bond_is_known_by_its_permanent_mac_too(tree: TreeHost) -> None:
    uses.interface(tree, "eno1", of=str(NIC), mac="02:00:5e:10:00:FF")
    path = (tree.root / "sys/class/net/eno1").resolve().relative_to(tree.root.resolve())
    tree.put(f"{path}/bonding_slave/perm_hwaddr", PRIVATE_MAC)

    assert live(tree).hardware_addresses() == {PRIVATE_MAC: {NIC}, "02:00:5e:10:00:ff": {NIC}}


def test_a_recording_tells_the_same_without_a_mac(tree: TreeHost, tmp_path: Path) -> None:
    uses.interface(tree, "eno1", of=str(NIC), mac=PRIVATE_MAC)
    uses.disk(tree, "nvme0n1", "259:0", of=str(GPU))
    uses.mounts(tree, "259:0 / ext4 /dev/root", "0:9 /secret zfs tank")
    uses.routes(tree, "eno1 00000000 0003 00000000")
    uses.slot(tree, "5", "0000:24:00")
    record(live(tree), tmp_path / "host.tar")

    with open_host([tmp_path / "host.tar"]) as recorded:
        assert recorded.use() == use_of(tree)
        assert recorded.hardware_addresses() is None
        said = (recorded.root / "manifest.json").read_text()
    assert not any(private in said for private in (PRIVATE_MAC, "0102000A", "secret"))


def test_an_older_recording_does_not_tell(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)

    with open_host([tree.root]) as recorded:
        assert recorded.use() is None


@pytest.mark.parametrize(
    "use", ['{"disks": {"no address": ["/"]}}', '{"interfaces": {"eno1": ["1"]}}', '{"a": 1}']
)
def test_a_recording_that_tells_it_wrongly_is_refused(tmp_path: Path, use: str) -> None:
    tree = one_switch(tmp_path)
    tree.put("manifest.json", f'{{"format": "pcietune host archive", "version": 1, "use": {use}}}')

    with (
        pytest.raises(BadInputError, match=r"manifest\.json is broken: "),
        open_host([tree.root]),
    ):
        pass
