"""What the host's network has of a function: what stands on its interfaces, addresses, routes."""

import socket
import struct
from collections.abc import Iterator

from pcietune.host.host_files import HostFiles
from pcietune.host.uses.interfaces import INTERFACES
from pcietune.host.uses.look import Look
from pcietune.host.uses.netlink import ROUTING, attributes
from pcietune.host.uses.sysfs_path import behind
from pcietune.model.hold import Hold, HoldKind

_UPPER = "upper_"  # links to what stands on an interface (net/core/dev.c)
_BY_DEVTYPE = {"bond": HoldKind.BOND, "bridge": HoldKind.BRIDGE, "vlan": HoldKind.VLAN}
_OVS = "ovs-system"  # the one device that all ports of Open vSwitch's datapath have as master
_FABRICS = "sys/class/nvme"
_OVER_NETWORK = ("rdma", "tcp")

# include/uapi/linux/rtnetlink.h and if_addr.h
_GET_ADDRESSES, _GET_ROUTES = 22, 26
_ADDRESS, _LOCAL = 1, 2
_DESTINATION, _OUT_INTERFACE, _MULTIPATH = 1, 4, 9
_LINK_SCOPE = 253
_BY_KERNEL = 2  # protocol of routes that come with an address, or with the interface
_BY_ITSELF = (b"\xfe\x80", b"\xff")  # IPv6: every interface that is up has these


def network_holds(look: Look, directory: str) -> Iterator[Hold]:
    """Yield what the network has of the function whose directory this is, or its subfunctions.

    A link-local address of IPv6 does not count: an interface that is up gets it by itself.
    """
    files = look.files
    names = look.below(INTERFACES, directory)
    if not names:
        if files.is_directory(f"{directory}/net"):
            yield Hold(HoldKind.NOT_KNOWN, "has an interface in another network namespace")
        return
    for name in names:
        yield from _uppers(files, name)
    addresses, routes = (
        look.ask(ROUTING, _GET_ADDRESSES, bytes(8)),
        look.ask(ROUTING, _GET_ROUTES, bytes(12)),
    )
    if addresses is None or routes is None:
        yield Hold(HoldKind.NOT_KNOWN, f"has {names[0]}, of which addresses and routes are unknown")
        return
    own: set[str] = set()
    for name in names:
        index = files.number(f"{INTERFACES}/{name}/ifindex")
        if index is None:
            yield Hold(HoldKind.NOT_KNOWN, f"has {name}, which cannot be looked at")
            continue
        found = [address for at, address in map(_address, addresses) if at == index and address]
        own.update(found)
        yield from (Hold(HoldKind.ADDRESS, f"has {name} with address {each}") for each in found)
        for destination in sorted({to for to, over in map(_route, routes) if to and index in over}):
            yield Hold(HoldKind.ROUTE, f"has {name} with a route to {destination}")
    yield from _sessions(files, names, own)


def _uppers(files: HostFiles, name: str) -> Iterator[Hold]:
    path = behind(files, f"{INTERFACES}/{name}") or f"{INTERFACES}/{name}"
    uppers = [n.removeprefix(_UPPER) for n in files.names(path) if n.startswith(_UPPER)]
    master = files.link_name(f"{path}/master")
    for upper in dict.fromkeys([*uppers, *([master] if master else [])]):
        kind = HoldKind.OVS if upper == _OVS else _kind(files, upper)
        yield Hold(kind, f"has {name}, which is part of {upper}")


def _kind(files: HostFiles, upper: str) -> HoldKind:
    text = files.text(f"{INTERFACES}/{upper}/uevent") or ""
    facts = dict(line.partition("=")[::2] for line in text.splitlines())
    return _BY_DEVTYPE.get(facts.get("DEVTYPE", ""), HoldKind.OTHER_UPPER)


def _address(message: bytes) -> tuple[int, str | None]:
    """Return an interface's index and its address; None of one that comes by itself."""
    family, _, _, scope, index = struct.unpack_from("=BBBBI", message)
    found = dict(attributes(message[8:]))
    data = found.get(_LOCAL, found.get(_ADDRESS))
    if data is None or (family == socket.AF_INET6 and scope == _LINK_SCOPE):
        return index, None
    return index, _printed(family, data)


def _route(message: bytes) -> tuple[str | None, frozenset[int]]:
    """Return where a route leads and by which interfaces; None of one that comes by itself."""
    family, bits, _, _, _, protocol = struct.unpack_from("=BBBBBB", message)
    found = dict(attributes(message[12:]))
    to = found.get(_DESTINATION)
    if protocol == _BY_KERNEL or (family == socket.AF_INET6 and (to or b"").startswith(_BY_ITSELF)):
        return None, frozenset()
    over = set(struct.unpack("=I", found[_OUT_INTERFACE])) if _OUT_INTERFACE in found else set()
    hops = found.get(_MULTIPATH, b"")
    while len(hops) >= 8:
        length, _, _, index = struct.unpack_from("=HBBi", hops)
        over.add(index)
        hops = hops[(max(length, 8) + 3) & ~3 :]
    return ("everywhere" if to is None else f"{_printed(family, to)}/{bits}"), frozenset(over)


def _printed(family: int, data: bytes) -> str | None:
    if (family, len(data)) not in ((socket.AF_INET, 4), (socket.AF_INET6, 16)):
        return None
    return socket.inet_ntop(family, data)


def _sessions(files: HostFiles, names: list[str], own: set[str]) -> Iterator[Hold]:
    """Yield NVMe controllers that are reached by an interface or from an address of it.

    Which is told by what they were connected with (drivers/nvme/host/fabrics.c,
    nvmf_get_address).
    """
    for controller in files.names(_FABRICS):
        path = f"{_FABRICS}/{controller}"
        if files.text(f"{path}/transport") not in _OVER_NETWORK:
            continue
        text = files.text(f"{path}/address") or ""
        told = dict(pair.partition("=")[::2] for pair in text.split(","))
        if told.get("host_iface") in names or own & {told.get("src_addr"), told.get("host_traddr")}:
            yield Hold(HoldKind.NVME_FABRICS, f"carries the NVMe session {controller}")
