"""Network interfaces: which functions are behind them, and which the host is reached by."""

from pcietune.address import PciAddress
from pcietune.host.host_files import HostFiles
from pcietune.host.uses.lines import lines
from pcietune.host.uses.sysfs_path import behind, function_of

INTERFACES = "sys/class/net"
ROUTES = "proc/net/route"
ROUTES_V6 = "proc/net/ipv6_route"

_LOWER = "lower_"  # links to what a bond, bridge or VLAN stands on (net/core/dev.c)
_LOOPBACK = "lo"
_ROUTE_UP, _ROUTE_REJECT = 0x0001, 0x0200  # include/uapi/linux/route.h


def read_interfaces(files: HostFiles) -> dict[str, tuple[PciAddress, ...]]:
    """Return the functions behind every interface that has any.

    Raises:
        NotPermittedError: This user may not look there.
    """
    found = {name: _functions(files, name, frozenset()) for name in files.names(INTERFACES)}
    return {name: tuple(sorted(functions)) for name, functions in found.items() if functions}


def read_hardware_addresses(files: HostFiles) -> dict[str, frozenset[PciAddress]]:
    """Return the functions of every MAC address that an interface has, in lower case.

    A member of a bond shows the bond's; its own is beside that (bond_sysfs_slave.c).
    """
    found: dict[str, frozenset[PciAddress]] = {}
    for name in files.names(INTERFACES):
        function = _own_function(files, name)
        if function is None:
            continue
        for attribute in ("address", "bonding_slave/perm_hwaddr"):
            address = files.text(f"{INTERFACES}/{name}/{attribute}")
            if address:
                known = found.get(address.lower(), frozenset())
                found[address.lower()] = known | {function}
    return found


def read_default_routes(files: HostFiles) -> tuple[str, ...] | None:
    """Return the interfaces that a default route leaves by; None if that is not readable.

    Those of the main table (net/ipv4/fib_trie.c, fib_route_seq_show) and of IPv6
    (net/ipv6/route.c, rt6_info_route).
    """
    routes, routes_v6 = lines(files, ROUTES), lines(files, ROUTES_V6)
    if routes is None:
        return None
    names = {row[0] for row in map(str.split, routes[1:]) if _is_default(row)}
    names |= {row[-1] for row in map(str.split, routes_v6 or []) if _is_default_v6(row)}
    return tuple(sorted(names - {_LOOPBACK}))


def _functions(files: HostFiles, name: str, above: frozenset[str]) -> set[PciAddress]:
    """Return the functions behind an interface, or behind those that it stands on."""
    own = _own_function(files, name)
    if own is not None:
        return {own}
    path = behind(files, f"{INTERFACES}/{name}")
    if path is None or name in above:
        return set()
    lower = [n.removeprefix(_LOWER) for n in files.names(path) if n.startswith(_LOWER)]
    return {each for below in lower for each in _functions(files, below, above | {name})}


def _own_function(files: HostFiles, name: str) -> PciAddress | None:
    return function_of(behind(files, f"{INTERFACES}/{name}") or "")


def _is_default(row: list[str]) -> bool:
    """Return whether a row of ``Iface Destination Gateway Flags ... Mask ...`` is one."""
    try:
        destination, flags, mask = (int(row[column], 16) for column in (1, 3, 7))
    except (IndexError, ValueError):
        return False
    return destination == mask == 0 and flags & (_ROUTE_UP | _ROUTE_REJECT) == _ROUTE_UP


def _is_default_v6(row: list[str]) -> bool:
    """Return whether a row of ``destination prefix source prefix hop ... flags Iface`` is one."""
    try:
        destination, prefix, flags = (int(row[column], 16) for column in (0, 1, 8))
    except (IndexError, ValueError):
        return False
    return destination == prefix == 0 and flags & (_ROUTE_UP | _ROUTE_REJECT) == _ROUTE_UP
