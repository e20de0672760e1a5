"""Whether the VM's NUMA nodes are the plan's cells, and its functions near to theirs."""

from collections.abc import Iterator, Mapping

from pcietune.errors import PcietuneError
from pcietune.guest.check.location import expander_above
from pcietune.guest.check.row import Aspect, Row, Verdict, compared, not_known
from pcietune.guest.number_list import number_list
from pcietune.guest.plan import Cell, Plan
from pcietune.model.access import HostAccess
from pcietune.model.function import PciFunction
from pcietune.model.numa_node import NumaNode

_VM = "VM"
_KIB = 1024  # in one MiB
_KERNELS_PART = 16  # of the memory, for page structs (a part in 64) and crashkernel=
_KERNELS_KIB = 256 * _KIB  # text, bounce buffers (swiotlb: 64 MiB) and the like, of whatever size
_NOT_SHOWN = "/sys/devices/system/node tells nothing: a kernel without NUMA, or an old recording"


def check_nodes(plan: Plan, host: HostAccess) -> Iterator[Row]:
    """Yield whether the VM has the cells, and each its CPUs and memory."""
    count = str(len(plan.cells))
    try:
        nodes = host.numa_nodes()
    except PcietuneError as error:
        yield not_known(_VM, Aspect.NODES, count, str(error), error)
        return
    if nodes is None:
        yield not_known(_VM, Aspect.NODES, count, _NOT_SHOWN)
        return
    yield compared(_VM, Aspect.NODES, count, str(len(nodes)), _why_other_count(host))
    for cell in plan.cells:
        node = nodes.get(cell.cell)
        if node is not None:
            yield _cpus(cell, node)
            yield _memory(cell, node)


def check_distances(
    plan: Plan, matched: Mapping[str, PciFunction], host: HostAccess
) -> Iterator[Row]:
    """Yield whether each function is near to its cell; of one that has none nothing is planned."""
    for passed in plan.functions:
        function = matched.get(passed.name)
        if function is None or passed.cell is None:
            continue
        planned = str(passed.cell)
        try:
            node = host.state(function).numa_node
        except PcietuneError as error:
            yield not_known(passed.name, Aspect.NODE, planned, str(error), error)
            continue
        if node is None:
            yield not_known(passed.name, Aspect.NODE, planned, "sysfs does not tell numa_node")
            continue
        found = "none (-1)" if node == -1 else str(node)
        yield compared(passed.name, Aspect.NODE, planned, found, _why_far(plan, passed.name, node))


def _why_other_count(host: HostAccess) -> str:
    if "numa=off" in (host.platform().cmdline or "").split():
        return "numa=off is on the VM's kernel command line: take it away"
    return (
        "QEMU was started without the plan's -numa arguments, or libvirt without its <numa> cells"
    )


def _why_far(plan: Plan, name: str, node: int) -> str:
    expander = expander_above(plan, plan.function(name))
    told_by = "an expander" if expander is None else f"expander {expander.name}"
    if node == -1:
        return (
            f"{told_by} above it tells no node (numa_node= of pxb-pcie, <node> in libvirt), or the "
            "VM's kernel knows none: NCCL then puts all that have none on one CPU of its own making"
        )
    return f"it is below another expander than the plan's, or {told_by} has another numa_node"


def _cpus(cell: Cell, node: NumaNode) -> Row:
    return compared(
        _name(cell),
        Aspect.CPUS,
        number_list(cell.vcpus),
        number_list(node.cpus),
        "other -numa cpu arguments (cpus= of libvirt's <cell>) were given, or CPUs are offline",
    )


def _memory(cell: Cell, node: NumaNode) -> Row:
    planned_kib = cell.memory_mib * _KIB
    planned = f"{cell.memory_mib} MiB"
    if node.memory_kib is None:
        return not_known(_name(cell), Aspect.MEMORY, planned, "its meminfo has no MemTotal")
    taken = min(planned_kib // _KERNELS_PART + _KERNELS_KIB, planned_kib // 2)
    if planned_kib - taken <= node.memory_kib <= planned_kib:
        return Row(_name(cell), Aspect.MEMORY, Verdict.PASS, planned, _of_kernel(node.memory_kib))
    less = node.memory_kib < planned_kib
    return Row(
        _name(cell),
        Aspect.MEMORY,
        Verdict.DIFFERS,
        planned,
        _of_kernel(node.memory_kib),
        "crashkernel=, mem= or a balloon took it, or the node was given less"
        if less
        else "the node was given more: is this the plan that the VM was started by?",
    )


def _name(cell: Cell) -> str:
    return f"node {cell.cell}"


def _of_kernel(kib: int) -> str:
    return f"{kib // _KIB} MiB for its kernel"
