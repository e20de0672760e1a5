"""NCCL's topology file against the VM that it is in: its functions, their kinds, and CPUs."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from msgspec.structs import replace

from pcietune.errors import PcietuneError
from pcietune.guest.check.row import Aspect, Row, Verdict
from pcietune.guest.nccl.bus_id import nic_bus_id
from pcietune.guest.nccl.lint.complaint import Severity
from pcietune.guest.nccl.lint.functions import kind_of
from pcietune.guest.nccl.lint.lint import lint
from pcietune.guest.nccl.lint.node import Node
from pcietune.guest.nccl.lint.tree import read_tree
from pcietune.guest.nccl.wanted import library_of
from pcietune.guest.plan import Plan
from pcietune.model.access import HostAccess
from pcietune.model.function import PciFunction
from pcietune.model.numa_node import NumaNode

_WRITE_ANEW = "write it anew: pcietune guest nccl PLAN"
_ENDS = ("gpu", "nic")  # what has to be a function of the VM


@dataclass(frozen=True, slots=True)
class TopologyFile:
    """A topology file.

    Attributes:
        name: Its path.
        named_by: What has NCCL read it.
        text: What it holds; None if it cannot be read.
        problem: Why not; empty if it can.
    """

    name: str
    named_by: str
    text: str | None
    problem: str = ""


def check_topology(
    file: TopologyFile, plan: Plan, matched: Mapping[str, PciFunction], host: HostAccess
) -> Iterator[Row]:
    """Yield what in a topology file is not so in the VM; one row that passes if all is.

    Args:
        file: The file.
        plan: The VM's plan.
        matched: The function that each of it is, by name.
        host: The VM.
    """
    differences = list(_differences(file, plan, matched, host))
    if not differences:
        yield Row(file.name, Aspect.TOPOLOGY, Verdict.PASS, None, f"named by {file.named_by}")
    for found, why in differences:
        yield Row(file.name, Aspect.TOPOLOGY, Verdict.DIFFERS, None, found, why)


def note_without_file(plan: Plan) -> Iterator[str]:
    """Yield what NCCL makes of a VM's emulated switches where no file tells it their links."""
    if any(bridge.stands_for is not None for bridge in plan.bridges):
        yield (
            "NCCL is named no topology file (NCCL_TOPO_FILE, /etc/nccl.conf), so that it takes the "
            "emulated switches' links for the slowest (2.5 GT/s x1): pcietune guest nccl writes one"
        )


def _differences(
    file: TopologyFile, plan: Plan, matched: Mapping[str, PciFunction], host: HostAccess
) -> Iterator[tuple[str, str]]:
    """Yield what is found, and what to do."""
    if file.text is None:
        yield (
            f"named by {file.named_by}, and {file.problem}",
            f"NCCL says so at NCCL_DEBUG=INFO only, and goes on without: {_WRITE_ANEW}",
        )
        return
    library = library_of(plan)
    for complaint in lint(file.text, library, _as_found(plan, matched, host)):
        if complaint.severity is Severity.ERROR:
            yield f"line {complaint.line}: {complaint.message}", complaint.advice
    system = read_tree(file.text, library, [])
    for found in () if system is None else _of_functions(file.text, system, _by_bus_id(host)):
        yield found, _WRITE_ANEW


def _as_found(plan: Plan, matched: Mapping[str, PciFunction], host: HostAccess) -> Plan:
    """Return the plan that the VM would be exact to: without what is missing."""
    functions = [
        replace(
            passed,
            guest_address=str(matched[passed.name].address),
            cell=_node_of(matched[passed.name], host),
        )
        for passed in plan.functions
        if passed.name in matched
    ]
    nodes = _nodes(host)
    cells = [
        replace(cell, vcpus=list(nodes[cell.cell].cpus)) if cell.cell in nodes else cell
        for cell in plan.cells
    ]
    return replace(plan, functions=functions, cells=cells)


def _by_bus_id(host: HostAccess) -> Mapping[str, PciFunction]:
    """Return the VM's functions by the ids that NCCL has for them, also a NIC's rounded ones."""
    found = {str(function.address): function for function in host.functions()}
    for function in host.functions():
        if kind_of(_class(function)) == "nic":
            for merge_vfs in (True, False):
                found.setdefault(nic_bus_id(function.address, merge_vfs=merge_vfs), function)
    return found


def _of_functions(text: str, system: Node, functions: Mapping[str, PciFunction]) -> Iterator[str]:
    """Yield which GPUs and NICs of a file are none here; switches may be invented."""
    for pci in system.below("pci"):
        bus_id, said = pci.get("busid"), pci.get("class")
        if bus_id is None or said is None:
            continue
        line, kind = text.count("\n", 0, pci.offset) + 1, kind_of(said)
        function = functions.get(bus_id)
        if function is None:
            if kind in _ENDS:
                yield f"line {line}: {bus_id}, a {kind}, is no function of this VM"
            continue
        is_one = kind_of(_class(function))
        if kind != is_one:
            yield f"line {line}: {bus_id} is a {is_one} in this VM, and a {kind} in the file"


def _node_of(function: PciFunction, host: HostAccess) -> int | None:
    """Return the node that a function is near to; None if none is told."""
    try:
        node = host.state(function).numa_node
    except PcietuneError:  # which is told of its NUMA node already
        return None
    return None if node is None or node < 0 else node


def _nodes(host: HostAccess) -> Mapping[int, NumaNode]:
    try:
        return host.numa_nodes() or {}
    except PcietuneError:  # which is told of the VM's NUMA nodes already
        return {}


def _class(function: PciFunction) -> str:
    return f"0x{function.class_code:06x}"
