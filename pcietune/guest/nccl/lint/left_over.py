"""What a topology file has left from the host, or the run, that it was dumped from.

Source: NCCL 2.30, what src/graph/topo.cc and xml.cc set in any case, or only where it is missing.
"""

from collections.abc import Iterator

from pcietune.errors import quoted
from pcietune.guest.nccl.lint.complaint import Found, Severity
from pcietune.guest.nccl.lint.functions import kind_of
from pcietune.guest.nccl.lint.node import Node, c_integer

_LINKS = ("nvlink", "xgmi")
_REWRITTEN = {
    "cpu": {"host_hash"},
    "gpu": {"rank", "keep", "mlopart"},
    "net": {"dev", "keep"},
}
_TAKEN = {"gpu": {"dev"}}


def left_over(system: Node) -> Iterator[Found]:
    """Yield what NCCL finds by itself, and takes from the file where it stands there."""
    for name in _REWRITTEN:
        for node in system.below(name):
            yield from _keys(node)
    yield from _without_gdr(system)
    yield from _in_nets(system)
    yield from _in_gpu_links(system)


def _keys(node: Node) -> Iterator[Found]:
    taken = _TAKEN.get(node.name, set())
    for key in sorted(_REWRITTEN[node.name] | taken):
        if node.get(key) is None:
            continue
        makes = (
            "NCCL takes it for that of this VM, whatever the driver says"
            if key in taken
            else "NCCL writes its own"
        )
        yield Found(
            node.at(key),
            Severity.WARNING if key in taken else Severity.NOTE,
            "left-over",
            f"{quoted(key)} of a {node.name}, as a dump has it: {makes}",
            "remove it",
        )


def _without_gdr(system: Node) -> Iterator[Found]:
    """Yield GPUs and PCI NICs that were dumped where they could no GPUDirect RDMA."""
    for pci in system.below("pci"):
        nets = (net for nic in pci.children if nic.name == "nic" for net in nic.children)
        gpus = (each for each in pci.children if each.name == "gpu")
        for node in (*gpus, *nets):
            gdr = node.get("gdr")
            if gdr is not None and c_integer(gdr) == 0:
                yield Found(
                    node.at("gdr"),
                    Severity.WARNING,
                    "no-gdr",
                    f"gdr {quoted(gdr)} of a {node.name}: NCCL does no GPUDirect RDMA with it,"
                    " whatever this VM can",
                    "remove it: NCCL asks driver and NIC",
                )


def _in_nets(system: Node) -> Iterator[Found]:
    ports: dict[str, Node] = {}
    for net in system.below("net"):
        guid = net.get("guid")
        if guid is None or net.get("speed") is None:
            continue
        other = ports.setdefault(guid, net)
        if other is not net:
            yield Found(
                net.at("speed"),
                Severity.WARNING,
                "shared-port",
                f"speed {quoted(net.get('speed') or '')} beside {quoted(other.get('speed') or '')}"
                f" of one port, guid {quoted(guid)}: NCCL counts both",
                "write of each what its share of the port is, or leave speed out",
            )


def _in_gpu_links(system: Node) -> Iterator[Found]:
    """Yield links of GPUs to themselves, to what is none, or that the other end does not have."""
    links = [(each, _bus_id(each)) for name in _LINKS for each in system.below(name)]
    functions = {each.get("busid"): each for each in system.below("pci")}
    ways = {(bus_id, link.get("target")) for link, bus_id in links}
    for link, bus_id in links:
        target = link.get("target")
        said = _wrong_target(bus_id, target, functions, ways)
        if said is None:
            yield Found(
                link.offset,
                Severity.NOTE,
                "left-over",
                f"a {link.name} to {quoted(target or '')}: NCCL takes it from here, and asks the"
                " driver for none of this GPU's",
                "remove it, and have the driver say which there are",
            )
        else:
            yield Found(link.at("target"), Severity.ERROR, "gpu-link", said, "remove it")


def _wrong_target(
    bus_id: str | None,
    target: str | None,
    functions: dict[str | None, Node],
    ways: set[tuple[str | None, str | None]],
) -> str | None:
    """Return what is wrong with the other end of a GPU's link; None if it may be right."""
    if target is None:
        return "a link without target: NCCL does not know where to"
    if target == bus_id:
        return f"a link of {quoted(target)} to itself"
    other = functions.get(target)
    if other is None:
        return None  # an NVSwitch, as of every target that the VM has not
    if kind_of(other.get("class") or "") == "gpu" and (target, bus_id) not in ways:
        return f"a link to {quoted(target)}, which has none back to {quoted(bus_id or '')}"
    return None


def _bus_id(link: Node) -> str | None:
    """Return the bus id of the GPU that a link is of."""
    return next((each.get("busid") for each in link.above() if each.name == "pci"), None)
