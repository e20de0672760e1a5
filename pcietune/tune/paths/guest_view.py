"""What can be said of paths inside of a VM, whose tree is not the host's."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from pcietune.address import PciAddress
from pcietune.errors import PcietuneError
from pcietune.model.access import HostAccess
from pcietune.model.fabric import Fabric
from pcietune.model.function import PciFunction
from pcietune.registers.ats import Ats
from pcietune.registers.express import Express, PortType
from pcietune.registers.p2p_approval import approved_clique
from pcietune.tune.paths.nvlink import NVIDIA
from pcietune.tune.paths.view import Peer, PeerKind

_VIRTUAL_MACHINES = ("QEMU", "KVM", "KubeVirt", "OpenStack", "VMware", "Xen", "Cloud Hypervisor")
"""How firmware's vendor or product names of VMs begin (systemd's src/basic/virt.c knows these)."""
_HYPER_V = ("Microsoft Corporation", "Virtual Machine")
_AMAZON, _METAL = "Amazon EC2", ".metal"
_QEMU_VENDORS = {0x1AF4: "virtio's 1af4", 0x1B36: "QEMU's 1b36"}
_QEMU_SWITCH = (0x104C, 0x8232)
_BLIND = (
    "what the switches of its host do, DirectTrans above all, cannot be seen from here; ask for "
    "what `pcietune paths` says there, or for lspci -vvv of its ports"
)


@dataclass(frozen=True, slots=True)
class Guest:
    """A VM, from the inside.

    Attributes:
        why: What shows that it is one.
        sentences: What is to be said of its GPUs and NICs.
        cliques: The clique of each GPU for which the hypervisor vouches.
    """

    why: str
    sentences: tuple[str, ...]
    cliques: Mapping[PciAddress, int]


def guest_view(host: HostAccess, fabric: Fabric, peers: Sequence[Peer]) -> Guest | None:
    """Return what a VM shows of its GPUs and NICs; None if this is none, or nothing shows it.

    Args:
        host: Where registers come from.
        fabric: Its functions, with port types for all bridges above them.
        peers: What takes part in pairs.
    """
    why = why_a_vm(host)
    if why is None:
        return None
    passed = [peer.function for peer in peers if peer.kind is not PeerKind.NVME]
    gpus = [peer.function for peer in peers if peer.kind is PeerKind.GPU]
    nics = [peer.function for peer in peers if peer.kind is PeerKind.NIC]
    cliques = _cliques(host, gpus)
    sentences = [
        f"this is a VM ({why}): {_BLIND}",
        *_without_hierarchy(host, passed),
        *_ats(host, nics),
        *_distances(fabric, passed, peers),
        *_vouched(fabric, gpus, cliques),
    ]
    return Guest(why, tuple(sentences), cliques)


def why_a_vm(host: HostAccess) -> str | None:
    """Return what shows that this is a VM, None if nothing does; firmware counts before ids."""
    dmi = host.platform().dmi
    vendor, product = dmi.get("sys_vendor", ""), dmi.get("product_name", "")
    if vendor.startswith(_VIRTUAL_MACHINES) or product.startswith(_VIRTUAL_MACHINES):
        return f"its firmware says {vendor} {product}".rstrip()
    if (vendor, product) == _HYPER_V or (vendor == _AMAZON and not product.endswith(_METAL)):
        return f"its firmware says {vendor} {product}".rstrip()
    if vendor or product:
        return None
    ids = {function.vendor for function in host.functions()}
    shown = [name for number, name in _QEMU_VENDORS.items() if number in ids]
    return f"it has devices of {' and '.join(shown)}" if shown else None


def _without_hierarchy(host: HostAccess, functions: Iterable[PciFunction]) -> Iterator[str]:
    """Yield what is on a root bus itself, as QEMU makes it of a device that has no port."""
    bare = [function for function in functions if not function.ports]
    if not bare:
        return
    kinds = {_kind(host, function) for function in bare}
    kind = kinds.pop() if len(kinds) == 1 else "endpoints without a port"
    yield (
        f"{_named(bare)} on the root bus itself, as {kind}: there is no PCIe hierarchy, extended "
        "capabilities may be hidden, ATS cannot be used, and link speeds are not known; give each "
        "a pcie-root-port of its own"
    )


def _kind(host: HostAccess, function: PciFunction) -> str:
    with suppress(PcietuneError):
        express = Express.find(host.config(function))
        if express is None:
            return "conventional PCI"
        if express.port_type is PortType.RC_INTEGRATED_ENDPOINT:
            return "integrated endpoints"
    return "endpoints without a port"


def _ats(host: HostAccess, nics: Iterable[PciFunction]) -> Iterator[str]:
    """Yield which NICs show ATS on, which says nothing of the host's ports."""
    on = []
    for nic in nics:
        with suppress(PcietuneError):
            ats = Ats.find(host.config(nic))
            if ats is not None and ats.enabled:
                on.append(nic)
    if on:
        yield f"ATS Enable+ of {_named(on)} is as it should be, and only half of what is needed"


def _distances(
    fabric: Fabric, functions: Sequence[PciFunction], peers: Iterable[Peer]
) -> Iterator[str]:
    if functions and not any(map(fabric.topmost_switch, functions)):
        yield (
            "no switch is to be seen above GPUs and NICs, so that NCCL takes all of them to be PHB "
            "apart and goes by host memory: emulate the host's switches, or give it NCCL_TOPO_FILE"
        )
    hidden = [peer.function for peer in peers if peer.numa_node in (None, -1)]
    if hidden:
        yield f"the NUMA node of {_named(hidden)} is not to be seen"


def _cliques(host: HostAccess, gpus: Iterable[PciFunction]) -> dict[PciAddress, int]:
    found = {}
    for gpu in gpus:
        with suppress(PcietuneError):
            clique = approved_clique(host.config(gpu)) if gpu.vendor == NVIDIA else None
            if clique is not None:
                found[gpu.address] = clique
    return found


def _vouched(
    fabric: Fabric, gpus: Sequence[PciFunction], cliques: Mapping[PciAddress, int]
) -> Iterator[str]:
    """Yield whether NVIDIA's driver takes PCIe peer-to-peer here; the tree has no say in it."""
    ours = [gpu for gpu in gpus if gpu.vendor == NVIDIA]
    if len(ours) < 2:
        return
    for clique in sorted(set(cliques.values())):
        members = [gpu for gpu in ours if cliques.get(gpu.address) == clique]
        yield (
            f"the hypervisor vouches for PCIe peer-to-peer between {_named(members)} (P2P "
            f"approval, clique {clique}), and NVIDIA's driver believes it unseen: prove it by "
            "all_reduce_perf -c 1"
        )
    without = [gpu for gpu in ours if gpu.address not in cliques]
    if without:
        emulated = any((f.vendor, f.device) == _QEMU_SWITCH for f in fabric.functions.values())
        switch = "; QEMU's switch, 104c:8232, does not change that" if emulated else ""
        yield (
            f"{_named(without)} without the P2P approval capability: NVIDIA's driver takes no PCIe "
            f"peer-to-peer there{switch}"
        )


def _named(functions: Iterable[PciFunction]) -> str:
    return ", ".join(str(function.address) for function in functions)
