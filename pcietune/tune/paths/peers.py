"""Which functions take part in pairs: GPUs, NICs that can do RDMA, NVMe drives."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from pcietune.address import PciAddress
from pcietune.errors import PcietuneError
from pcietune.model.access import HostAccess
from pcietune.model.fabric import Fabric
from pcietune.model.function import FunctionState, PciFunction
from pcietune.model.role_name import RoleName
from pcietune.tune.match.survey import is_gpu
from pcietune.tune.paths.sender import Sender
from pcietune.tune.paths.view import Peer, PeerKind

_NVME = 0x0108
_INFINIBAND = 0x0207
_ETHERNET = 0x0200
_RDMA_ETHERNET = {
    0x15B3: ((0x1000, 0xFFFF),),  # ConnectX and BlueField: mlx4_core, mlx5_core
    0x1DD8: ((0x1000, 0xFFFF),),  # Pensando: ionic
    0x1D0F: ((0xEFA0, 0xEFAF),),  # Amazon's EFA, and not its ENA
    0x14E4: ((0x16C0, 0x16FF), (0x1750, 0x18FF), (0xD802, 0xD804)),  # NetXtreme-E: bnxt_en
    0x8086: (  # those for which ice, i40e and idpf make a device of irdma
        (0x1591, 0x159B),
        (0x124C, 0x124F),
        (0x12D0, 0x12DE),
        (0x1452, 0x1452),
        (0x188A, 0x189A),
        (0x37CC, 0x37D3),
    ),
}
"""Ethernet NICs that can do RDMA, by vendor and ranges of devices, from their drivers' tables: a
board's own 1G ports are of the same class, and nobody asks for their ways to a GPU."""

_ROLES = {RoleName.GPU: PeerKind.GPU, RoleName.NIC: PeerKind.NIC}
_NO_ROLE: Mapping[PciAddress, RoleName] = {}


def kind_of(function: PciFunction, role: RoleName | None = None) -> PeerKind | None:
    """Return as what a function takes part in pairs: by its role, else by class and vendor.

    None if it does not, as GPUs' sound, a BMC's VGA, NVSwitches and bridges.
    """
    if role in _ROLES:
        return _ROLES[role]
    if role is RoleName.NVSWITCH or function.is_pci_bridge:
        return None
    if is_gpu(function):
        return PeerKind.GPU
    if function.device_class == _NVME:
        return PeerKind.NVME
    if function.device_class == _INFINIBAND or _is_rdma_ethernet(function):
        return PeerKind.NIC
    return None


def physical_peers(
    host: HostAccess, fabric: Fabric, roles: Mapping[PciAddress, RoleName] = _NO_ROLE
) -> Iterator[tuple[PciFunction, PeerKind, FunctionState | None]]:
    """Yield the functions that take part, but VFs, with what sysfs says; None if it vanished."""
    virtual: set[PciAddress] = set()
    for function in fabric.functions.values():
        kind = kind_of(function, roles.get(function.address))
        if kind is None or function.address in virtual:
            continue
        try:
            state = host.state(function)
        except PcietuneError:
            yield function, kind, None
            continue
        virtual.update(state.virtual_functions)
        if state.physical_function is None:
            yield function, kind, state


def find_peers(
    fabric: Fabric,
    physical: Iterable[tuple[PciFunction, PeerKind, FunctionState | None]],
    sender: Callable[[PciFunction], Sender],
    *,
    vfs: bool,
) -> tuple[Peer, ...]:
    """Return the peers: GPUs, then NICs, then NVMe drives, each in the order of addresses.

    A PF stands for the VFs that send as it does, and of others that send alike the first stands
    for all: VF 3 of ``NIC0`` is ``NIC0v3``.

    Args:
        fabric: The host's functions.
        physical: What ``physical_peers`` found.
        sender: Tells what a function sends.
        vfs: Whether each VF stands for itself.
    """
    found: dict[PeerKind, list[Peer]] = {kind: [] for kind in PeerKind}
    counts = dict.fromkeys(PeerKind, 0)
    for function, kind, state in physical:
        label = f"{_NAMES[kind]}{counts[kind]}"
        counts[kind] += 1
        node = None if state is None or state.numa_node == -1 else state.numa_node
        peer = Peer(function, kind, label, node)
        virtual = () if state is None else state.virtual_functions
        numbered = [
            (n, fabric.functions[a]) for n, a in enumerate(virtual) if a in fabric.functions
        ]
        found[kind] += _with_virtual(peer, numbered, sender, vfs=vfs)
    return tuple(peer for kind in PeerKind for peer in found[kind])


_NAMES = {PeerKind.GPU: "GPU", PeerKind.NIC: "NIC", PeerKind.NVME: "NVME"}


def _with_virtual(
    physical: Peer,
    virtual: Iterable[tuple[int, PciFunction]],
    sender: Callable[[PciFunction], Sender],
    *,
    vfs: bool,
) -> list[Peer]:
    """Return a PF and its VFs, those folded together that send alike."""
    peers = [physical]
    alike = {_traits(sender(physical.function)): 0}
    for number, function in virtual:
        traits = _traits(sender(function))
        index = None if vfs else alike.get(traits)
        if index is None:
            alike.setdefault(traits, len(peers))
            label = f"{physical.label}v{number}"
            peers.append(replace(physical, function=function, label=label))
        else:
            known = peers[index]
            peers[index] = replace(known, virtual_functions=known.virtual_functions + 1)
    return peers


def _traits(sender: Sender) -> tuple[object, ...]:
    """Return all by which senders of one device differ on their ways."""
    return (
        sender.address,
        sender.translated,
        sender.answer,
        sender.relaxed_ordering,
        sender.mapped,
    )


def _is_rdma_ethernet(function: PciFunction) -> bool:
    ranges = _RDMA_ETHERNET.get(function.vendor, ())
    return function.device_class == _ETHERNET and any(
        first <= function.device <= last for first, last in ranges
    )
