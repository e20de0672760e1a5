"""Network interfaces, slots, disks, mounts and routes, where sysfs and procfs have them."""

from trees.host import TreeHost

_HEAD = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT"


def interface(tree: TreeHost, name: str, *, of: str, mac: str = "02:00:5e:10:00:01") -> None:
    """Add the interface of a function."""
    path = f"{_path(tree, of)}/net/{name}"
    tree.put(f"{path}/address", mac)
    tree.link(f"sys/class/net/{name}", path)


def stacked_interface(tree: TreeHost, name: str, *lower: str) -> None:
    """Add a bond, bridge or VLAN above others (net/core/dev.c, netdev_adjacent_sysfs_add)."""
    path = f"sys/devices/virtual/net/{name}"
    tree.put(f"{path}/address", "02:00:5e:10:00:ff")
    tree.link(f"sys/class/net/{name}", path)
    for each in lower:
        target = (tree.root / "sys/class/net" / each).resolve(strict=True)
        tree.link(f"{path}/lower_{each}", str(target.relative_to(tree.root.resolve())))


def routes(tree: TreeHost, *rows: str) -> None:
    """Write the IPv4 routes; a row is interface, destination, flags and mask, in hex."""
    lines = [_HEAD]
    for row in rows:
        name, destination, flags, mask = row.split()
        lines.append(f"{name}\t{destination}\t0102000A\t{flags}\t0\t0\t0\t{mask}\t0\t0\t0")
    tree.put("proc/net/route", "\n".join(lines))


def slot(tree: TreeHost, name: str, address: str) -> None:
    """Add a physical slot."""
    tree.put(f"sys/bus/pci/slots/{name}/address", address)


def disk(tree: TreeHost, name: str, number: str, *, of: str) -> None:
    """Add an NVMe disk of a function: its namespace stands below its controller."""
    block_device(tree, name, number, f"{_path(tree, of)}/nvme/nvme0/{name}")


def block_device(tree: TreeHost, name: str, number: str, path: str) -> None:
    """Add a block device whose directory is ``path``."""
    tree.put(f"{path}/dev", number)
    tree.link(f"sys/dev/block/{number}", path)
    tree.link(f"sys/class/block/{name}", path)


def mounts(tree: TreeHost, *rows: str) -> None:
    """Write mountinfo; a row is numbers, place, type and source."""
    lines = []
    for index, row in enumerate(rows):
        number, place, kind, source = row.split()
        lines.append(f"{index} 1 {number} / {place} rw,relatime shared:1 - {kind} {source} rw")
    tree.put("proc/self/mountinfo", "\n".join(lines))


def _path(tree: TreeHost, address: str) -> str:
    return str(tree.directory(address).relative_to(tree.root.resolve()))
