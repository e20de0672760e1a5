"""Which functions are never touched: by the settings, and by what the host itself stands on."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from pcietune.address import PciAddress
from pcietune.errors import PcietuneError
from pcietune.model.access import HostAccess
from pcietune.model.fabric import Fabric
from pcietune.model.function import PciFunction
from pcietune.model.protection import HostUse, Protect, Protection, Selector
from pcietune.model.role_name import RoleName

_NOT_RECORDED = "which functions carry disks of the host and its default route: not recorded"


def protect(
    host: HostAccess,
    fabric: Fabric,
    roles: Mapping[PciAddress, RoleName],
    wishes: Sequence[Protect],
) -> Protection:
    """Return what is never touched: what is meant, what is below that if it is a bridge, its VFs.

    Args:
        host: What says how functions are used and named.
        fabric: All functions.
        roles: What a profile takes them for; a DPU is another host's way in.
        wishes: What the settings protect.
    """
    use = host.use()
    why: dict[PciAddress, str] = {}
    unused, undecided = [], []
    for wish in wishes:
        meant = _meant(host, fabric, use, wish)
        if meant is None:
            undecided.append(wish)
        elif not meant:
            unused.append(wish)
        for address in _with_dependants(host, fabric, meant or ()):
            why.setdefault(address, f"{wish} in the settings" + _because(wish))
    by_settings = frozenset(why)
    for address, phrase in _by_use(use, roles):
        for each in _with_dependants(host, fabric, [address]):
            why.setdefault(each, phrase)
    return Protection(
        why=dict(sorted(why.items())),
        by_settings=by_settings,
        unused=tuple(unused),
        undecided=tuple(undecided),
        not_known=(_NOT_RECORDED,) if use is None else use.not_known,
    )


def left_out(
    roles: Mapping[PciAddress, RoleName],
    protection: Protection,
    on_bare_metal: Collection[PciAddress] = (),
) -> frozenset[PciAddress]:
    """Return the functions with a role that are neither judged nor tuned, being protected.

    On bare metal the host's own use of a function is its duty, so only the settings leave one out
    there. A DPU keeps its role, for nothing is done about one.
    """
    return frozenset(
        address
        for address, role in roles.items()
        if role is not RoleName.DPU
        and protection.covers(address)
        and (address in protection.by_settings or address not in on_bare_metal)
    )


def _by_use(
    use: HostUse | None, roles: Mapping[PciAddress, RoleName]
) -> Iterable[tuple[PciAddress, str]]:
    """Yield what is protected without being asked for, and why."""
    for address, role in roles.items():
        if role is RoleName.DPU:
            yield address, "is a DPU"
    if use is None:
        return
    for address, places in use.disks.items():
        yield address, f"carries {' and '.join(places)}"
    for name in use.default_routes:
        for address in use.interfaces.get(name, ()):
            yield address, f"has the default route, by {name}"


def _meant(
    host: HostAccess, fabric: Fabric, use: HostUse | None, wish: Protect
) -> Sequence[PciAddress] | None:
    """Return what a wish selects; None if this host does not tell."""
    functions = fabric.functions.values()
    match wish.by:
        case Selector.LOCATION:
            return [f.address for f in functions if f.location == wish.name]
        case Selector.ADDRESS:
            address = PciAddress.parse(wish.name)
            return [address] if address in fabric.functions else []
        case Selector.CLASS:
            return [f.address for f in functions if f"{f.device_class:04x}" == wish.name]
        case Selector.MAC:
            known = host.hardware_addresses()
            return None if known is None else sorted(known.get(wish.name, ()))
        case Selector.NETDEV:
            return None if use is None else use.interfaces.get(wish.name, ())
        case Selector.SLOT:
            return None if use is None else _in_slot(functions, use.slots.get(wish.name))


def _in_slot(functions: Iterable[PciFunction], slot: str | None) -> list[PciAddress]:
    """Return the functions of ``0000:24:00``, or of the whole bus ``0000:24``."""
    if slot is None:
        return []
    return [f.address for f in functions if str(f.address).startswith((f"{slot}.", f"{slot}:"))]


def _with_dependants(
    host: HostAccess, fabric: Fabric, meant: Iterable[PciAddress]
) -> Iterable[PciAddress]:
    """Yield functions, all that is below those that are bridges, and the VFs of all."""
    for address in meant:
        function = fabric.functions.get(address)
        if function is None:
            continue
        for each in (function, *fabric.below(function)):
            yield each.address
            try:
                yield from host.state(each).virtual_functions
            except PcietuneError:  # it vanished, and its VFs with it
                continue


def _because(wish: Protect) -> str:
    return f": {wish.reason}" if wish.reason else ""
