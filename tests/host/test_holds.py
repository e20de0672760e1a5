"""What the host has of a function: sysfs and procfs as the kernel has them, netlink by its headers.

The messages are laid out by hand from include/uapi/linux/rtnetlink.h, if_addr.h and
rdma/rdma_netlink.h.
"""

import ipaddress
import struct
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from host.hindered import as_nobody
from trees import uses
from trees.host import TreeHost
from trees.machines import one_switch
from tune.judged import at

from pcietune.host.host_files import HostFiles
from pcietune.host.sysfs import SysfsHost
from pcietune.host.uses.holds import read_holds
from pcietune.host.uses.look import Look
from pcietune.host.uses.netlink import RDMA, ROUTING
from pcietune.model.hold import Hold, HoldKind

NIC = "0000:24:00.0"
GPU = "0000:23:00.0"
INDEX = 7
ADDRESSES, ROUTES, RESOURCES = 22, 26, (5 << 10) | 9
STATIC, BY_KERNEL = 4, 2
LINK, GLOBAL = 253, 0


def attribute(kind: int, value: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(value), kind) + value + bytes(-len(value) % 4)


def address(text: str, *, index: int = INDEX, scope: int = GLOBAL) -> bytes:
    """Return a message of RTM_NEWADDR: struct ifaddrmsg, IFA_ADDRESS."""
    parsed = ipaddress.ip_address(text)
    family = 2 if parsed.version == 4 else 10
    return struct.pack("=BBBBI", family, 24, 0, scope, index) + attribute(1, parsed.packed)


def route(
    text: str, *, index: int = INDEX, protocol: int = STATIC, hops: tuple[int, ...] = ()
) -> bytes:
    """Return a message of RTM_NEWROUTE: struct rtmsg, RTA_DST, RTA_OIF or RTA_MULTIPATH."""
    network = ipaddress.ip_network(text)
    family = 2 if network.version == 4 else 10
    head = struct.pack("=BBBBBBBBI", family, network.prefixlen, 0, 0, 254, protocol, 0, 1, 0)
    to = attribute(1, network.network_address.packed) if network.prefixlen else b""
    over = b"".join(struct.pack("=HBBi", 8, 0, 0, hop) for hop in hops)
    return head + to + (attribute(9, over) if hops else attribute(4, struct.pack("=I", index)))


def resources(name: str, **counts: int) -> bytes:
    """Return a message of RDMA_NLDEV_CMD_RES_GET."""
    entries = b"".join(
        attribute(16, attribute(17, f"{what}\0".encode()) + attribute(18, struct.pack("=Q", count)))
        for what, count in counts.items()
    )
    return (
        attribute(1, struct.pack("=I", 0))
        + attribute(2, f"{name}\0".encode())
        + attribute(15, entries)
    )


class Kernel:
    """Answers by netlink; asked for what is not here it knows nothing."""

    def __init__(self) -> None:
        self.answers: dict[tuple[int, int], list[bytes] | None] = {
            (ROUTING, ADDRESSES): [address("127.0.0.1", index=1)],
            (ROUTING, ROUTES): [],
            (RDMA, RESOURCES): [],
        }

    def __call__(self, protocol: int, request: int, body: bytes) -> list[bytes] | None:
        assert len(body) == {ADDRESSES: 8, ROUTES: 12, RESOURCES: 0}[request]
        return self.answers[(protocol, request)]


@pytest.fixture
def kernel() -> Kernel:
    return Kernel()


@pytest.fixture
def tree(tmp_path: Path) -> TreeHost:
    """Return a host whose NIC has an interface that nothing stands on."""
    host = one_switch(tmp_path / "host", driver="mlx5_core")
    uses.mounts(host, "0:21 /proc proc proc")
    uses.interface(host, "ib0", of=NIC)
    host.put("sys/class/net/ib0/ifindex", str(INDEX))
    return host


def holds(tree: TreeHost, kernel: Kernel, of: str = NIC) -> list[Hold]:
    live = HostFiles(tree.root, recorded=False)
    return list(read_holds(Look(live, kernel), at(SysfsHost(live), of)))


def path(tree: TreeHost, of: str) -> str:
    return str(tree.directory(of).relative_to(tree.root.resolve()))


def upper(tree: TreeHost, name: str, *, devtype: str = "") -> None:
    """Put an interface on ib0, as netdev_upper_dev_link does."""
    uses.stacked_interface(tree, name, "ib0")
    tree.put(f"sys/class/net/{name}/uevent", f"DEVTYPE={devtype}\nINTERFACE={name}")
    tree.link(f"{path(tree, NIC)}/net/ib0/upper_{name}", f"sys/devices/virtual/net/{name}")


def test_an_interface_that_nothing_stands_on_holds_nothing(tree: TreeHost, kernel: Kernel) -> None:
    assert holds(tree, kernel) == []


@pytest.mark.parametrize(
    ("name", "devtype", "kind"),
    [
        ("bond0", "bond", HoldKind.BOND),
        ("br0", "bridge", HoldKind.BRIDGE),
        ("ib0.5", "vlan", HoldKind.VLAN),
        ("ovs-system", "", HoldKind.OVS),
        ("team0", "", HoldKind.OTHER_UPPER),
    ],
)
def test_whatever_stands_on_an_interface_holds_its_function(
    tree: TreeHost, kernel: Kernel, name: str, devtype: str, kind: HoldKind
) -> None:
    upper(tree, name, devtype=devtype)

    assert holds(tree, kernel) == [Hold(kind, f"has ib0, which is part of {name}")]


def test_an_address_holds_the_function(tree: TreeHost, kernel: Kernel) -> None:
    kernel.answers[(ROUTING, ADDRESSES)] = [address("192.0.2.7"), address("2001:db8::7")]

    assert holds(tree, kernel) == [
        Hold(HoldKind.ADDRESS, "has ib0 with address 192.0.2.7"),
        Hold(HoldKind.ADDRESS, "has ib0 with address 2001:db8::7"),
    ]


def test_a_link_local_address_comes_by_itself_but_one_of_ipv4_does_not(
    tree: TreeHost, kernel: Kernel
) -> None:
    kernel.answers[(ROUTING, ADDRESSES)] = [
        address("fe80::1", scope=LINK),
        address("169.254.1.1", scope=LINK),
        address("192.0.2.9", index=8),
    ]

    assert [hold.text for hold in holds(tree, kernel)] == ["has ib0 with address 169.254.1.1"]


def test_a_route_holds_the_function_also_as_one_of_several_ways(
    tree: TreeHost, kernel: Kernel
) -> None:
    kernel.answers[(ROUTING, ROUTES)] = [
        route("198.51.100.0/24", hops=(9, INDEX)),
        route("0.0.0.0/0"),
        route("203.0.113.0/24", index=9),
        route("192.0.2.0/24", protocol=BY_KERNEL),
        route("fe80::/64"),
        route("ff00::/8"),
    ]

    assert holds(tree, kernel) == [
        Hold(HoldKind.ROUTE, "has ib0 with a route to 198.51.100.0/24"),
        Hold(HoldKind.ROUTE, "has ib0 with a route to everywhere"),
    ]


@pytest.mark.parametrize("lost", [(ROUTING, ADDRESSES), (ROUTING, ROUTES)])
def test_what_the_kernel_does_not_tell_counts(
    tree: TreeHost, kernel: Kernel, lost: tuple[int, int]
) -> None:
    kernel.answers[lost] = None

    assert [hold.kind for hold in holds(tree, kernel)] == [HoldKind.NOT_KNOWN]


def test_an_interface_that_vanishes_while_it_is_looked_at_counts(
    tree: TreeHost, kernel: Kernel
) -> None:
    (tree.root / "sys/class/net/ib0/ifindex").unlink()

    assert [hold.kind for hold in holds(tree, kernel)] == [HoldKind.NOT_KNOWN]


def test_an_interface_in_another_network_namespace_counts(tree: TreeHost, kernel: Kernel) -> None:
    (tree.directory(GPU) / "net").mkdir()  # sysfs shows the names of its own namespace only

    assert [hold.text for hold in holds(tree, kernel, GPU)] == [
        "has an interface in another network namespace"
    ]


def rdma_device(tree: TreeHost, name: str = "mlx5_0") -> None:
    tree.put(f"{path(tree, NIC)}/infiniband/{name}/node_type", "1: CA")
    tree.link(f"sys/class/infiniband/{name}", f"{path(tree, NIC)}/infiniband/{name}")


def test_an_rdma_device_that_nobody_uses_holds_nothing(tree: TreeHost, kernel: Kernel) -> None:
    rdma_device(tree)
    idle = resources("mlx5_0", pd=3, cq=5, qp=4, cm_id=0, mr=1, ctx=0)  # as the driver itself
    kernel.answers[(RDMA, RESOURCES)] = [resources("mlx5_1", ctx=9, cm_id=9), idle]

    assert holds(tree, kernel) == []


def test_contexts_and_connections_of_rdma_hold_the_function(tree: TreeHost, kernel: Kernel) -> None:
    rdma_device(tree)
    kernel.answers[(RDMA, RESOURCES)] = [resources("mlx5_0", cm_id=4, ctx=2)]

    assert holds(tree, kernel) == [
        Hold(HoldKind.RDMA, "has mlx5_0, with 2 contexts of processes of RDMA"),
        Hold(HoldKind.RDMA, "has mlx5_0, with 4 connections of RDMA"),
    ]


@pytest.mark.parametrize("answer", [None, [], [resources("mlx5_0", qp=4)]])
def test_uses_of_rdma_that_cannot_be_counted_count(
    tree: TreeHost, kernel: Kernel, answer: list[bytes] | None
) -> None:
    rdma_device(tree)
    kernel.answers[(RDMA, RESOURCES)] = answer

    assert {hold.kind for hold in holds(tree, kernel)} == {HoldKind.NOT_KNOWN}


@pytest.mark.parametrize(
    ("told", "held"),
    [
        ("traddr=192.0.2.50,trsvcid=4420,host_iface=ib0", True),
        ("traddr=192.0.2.50,trsvcid=4420,src_addr=192.0.2.7", True),
        ("traddr=192.0.2.50,trsvcid=4420,host_iface=eno1,src_addr=198.51.100.1", False),
    ],
)
def test_an_nvme_session_over_an_interface_is_named(
    tree: TreeHost, kernel: Kernel, told: str, *, held: bool
) -> None:
    kernel.answers[(ROUTING, ADDRESSES)] = [address("192.0.2.7")]
    tree.put("sys/class/nvme/nvme3/transport", "tcp")
    tree.put("sys/class/nvme/nvme3/address", told)

    named = Hold(HoldKind.NVME_FABRICS, "carries the NVMe session nvme3")
    assert (named in holds(tree, kernel)) is held


def test_virtual_functions_hold_their_pf_whatever_driver_it_has(
    tree: TreeHost, kernel: Kernel
) -> None:
    tree.put(f"{path(tree, NIC)}/sriov_numvfs", "4")
    (tree.directory(NIC) / "driver").unlink()

    assert holds(tree, kernel) == [Hold(HoldKind.VFS, "has 4 virtual functions")]


def test_what_no_driver_has_nothing_stands_on(tree: TreeHost, kernel: Kernel) -> None:
    kernel.answers[(ROUTING, ADDRESSES)] = None
    (tree.directory(NIC) / "driver").unlink()

    assert holds(tree, kernel) == []


def test_a_disk_that_is_part_of_a_raid_holds_its_function(tree: TreeHost, kernel: Kernel) -> None:
    uses.disk(tree, "nvme0n1", "259:0", of=GPU)
    tree.put("sys/class/block/nvme0n1/holders/md0/x", "")

    assert Hold(HoldKind.DISK, "has nvme0n1, which is part of md0") in holds(tree, kernel, GPU)


def test_a_mounted_disk_holds_its_function(tree: TreeHost, kernel: Kernel) -> None:
    uses.disk(tree, "nvme0n1", "259:0", of=GPU)
    uses.mounts(tree, "259:0 /var ext4 /dev/nvme0n1")

    assert Hold(HoldKind.DISK, "carries /var") in holds(tree, kernel, GPU)


def process(tree: TreeHost, number: int, name: str, *nodes: str) -> None:
    """Add a process that has device nodes open."""
    tree.put(f"proc/{number}/comm", name)
    for descriptor, node in enumerate(nodes):
        link = tree.root / f"proc/{number}/fd/{descriptor}"
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(node)


def test_a_process_that_has_a_device_node_open_holds_the_function(
    tree: TreeHost, kernel: Kernel
) -> None:
    tree.put(f"{path(tree, GPU)}/drm/card1/uevent", "MAJOR=226\nMINOR=1\nDEVNAME=dri/card1")
    process(tree, 812, "Xorg", "/dev/null", "/dev/dri/card1")
    process(tree, 813, "other", "/dev/dri/card0")

    assert holds(tree, kernel, GPU) == [
        Hold(HoldKind.OPEN, "is /dev/dri/card1, which Xorg (pid 812) has open")
    ]


@pytest.fixture
def for_nobody() -> Iterator[TreeHost]:
    """Yield a host that others may go to, as they may not below tmp_path, with a GPU's node."""
    with TemporaryDirectory() as directory:
        Path(directory).chmod(0o755)
        tree = one_switch(Path(directory), driver="nouveau")
        uses.mounts(tree, "0:21 /proc proc proc")
        tree.put(f"{path(tree, GPU)}/drm/card1/uevent", "DEVNAME=dri/card1")
        process(tree, 812, "Xorg", "/dev/dri/card1")
        yield tree


@pytest.mark.parametrize(
    ("kept", "said"),
    [
        ("proc/812/fd", "may be open in process 812: that is not readable"),
        (
            "sys/class/block",
            "may be used by the host: /sys/class/block may not be read: Permission denied",
        ),
    ],
)
def test_where_this_user_may_not_look_that_counts(
    for_nobody: TreeHost, kernel: Kernel, kept: str, said: str
) -> None:
    place = for_nobody.root / kept
    place.mkdir(parents=True, exist_ok=True)
    place.chmod(0)

    with as_nobody():
        held = holds(for_nobody, kernel, GPU)

    place.chmod(0o755)
    assert held == [Hold(HoldKind.NOT_KNOWN, said)]


@pytest.fixture
def nvidia(tmp_path: Path) -> TreeHost:
    host = one_switch(tmp_path / "nvidia", driver="nvidia")
    uses.mounts(host, "0:21 /proc proc proc")
    return host


def test_nvidias_own_device_nodes_are_found_by_their_minor_number(
    nvidia: TreeHost, kernel: Kernel
) -> None:
    told = "Model: \t\t NVIDIA A800-SXM4-80GB\nDevice Minor: \t 3"
    nvidia.put(f"proc/driver/nvidia/gpus/{GPU}/information", told)
    process(nvidia, 9, "nvidia-persiste", "/dev/nvidiactl", "/dev/nvidia3")
    process(nvidia, 10, "other", "/dev/nvidia0")

    assert holds(nvidia, kernel, GPU) == [
        Hold(HoldKind.OPEN, "is /dev/nvidia3, which nvidia-persiste (pid 9) has open")
    ]


def test_where_nvidia_does_not_tell_its_minor_number_that_counts(
    nvidia: TreeHost, kernel: Kernel
) -> None:
    assert [hold.kind for hold in holds(nvidia, kernel, GPU)] == [HoldKind.NOT_KNOWN]


def test_of_a_recording_nobody_knows_what_held_a_function(tree: TreeHost, kernel: Kernel) -> None:
    files = HostFiles(tree.root, recorded=True)

    (held,) = read_holds(Look(files, kernel), at(SysfsHost(files), NIC))

    assert held.kind is HoldKind.NOT_KNOWN


def test_one_look_asks_the_kernel_once_and_the_next_one_again(
    tree: TreeHost, kernel: Kernel
) -> None:
    live = HostFiles(tree.root, recorded=False)
    look, function = Look(live, kernel), at(SysfsHost(live), NIC)
    before = read_holds(look, function)
    kernel.answers[ROUTING, ADDRESSES] = [address("192.0.2.1")]  # came meanwhile

    assert read_holds(look, function) == before == ()
    assert [hold.kind for hold in read_holds(Look(live, kernel), function)] == [HoldKind.ADDRESS]
