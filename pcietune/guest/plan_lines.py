"""The plan of a VM for people: where each function will be, and why these."""

from collections import Counter
from collections.abc import Iterator

from pcietune.guest.devices import Bridge, Passed
from pcietune.guest.kinds import BridgeKind, Kind, NvSwitchModel
from pcietune.guest.memory_size import memory_told
from pcietune.guest.number_list import number_list
from pcietune.guest.pair_lines import pair_lines
from pcietune.guest.plan import Cell, Plan

_NAMES = {Kind.GPU: "GPU", Kind.NIC: "NIC", Kind.NVSWITCH: "NVSwitch", Kind.COMPANION: "companion"}
_ACTIVATORS = {
    NvSwitchModel.SHARED: "the service VM",
    NvSwitchModel.HOST: "the host's Fabric Manager",
}
_KIB_PER_MIB = 1024


def plan_lines(plan: Plan, file: str | None) -> Iterator[str]:
    """Yield all of a plan but its tree.

    Args:
        plan: The plan.
        file: Where it was written; None if nowhere.
    """
    yield ""
    for cell in plan.cells:
        yield _cell(cell)
    budget = plan.budget
    yield (
        f"buses {budget.buses} in use, {budget.spare_buses} to spare; windows of"
        f" {memory_told(budget.memory_64_mib)}"
        f" and, below 4 GiB, {memory_told(budget.memory_32_mib)}"
    )
    if plan.nvswitch.partition is not None:
        yield (
            f"NVSwitches: partition {plan.nvswitch.partition}, which"
            f" {_ACTIVATORS[plan.nvswitch.model]} activates; pcietune guest nvswitch FILE tells how"
        )
    if plan.pairs:
        yield from ("", "what pairs may expect")
        yield from (f"  {line}" for line in pair_lines(plan.pairs))
    yield from ("", "why")
    yield from (f"  {reason}" for reason in plan.reasons)
    for warning in plan.warnings:
        yield from ("", f"warning  {warning}")
    yield ""
    if file is None:
        yield "next: the same with -o FILE, then pcietune guest qemu FILE or guest libvirt FILE"
    else:
        yield f"wrote {file}; next: pcietune guest qemu {file}, or pcietune guest libvirt {file}"


def plan_heading(plan: Plan) -> str:
    """Return what the VM is, in a line."""
    counts = Counter(each.kind for each in plan.functions)
    named = ", ".join(
        f"{counts[kind]} {name}{_plural(name, counts[kind])}"
        for kind, name in _NAMES.items()
        if counts[kind]
    )
    host = " ".join(filter(None, (plan.host.vendor, plan.host.product))) or "an unnamed host"
    machine = plan.machine
    return (
        f"{machine.name}: {named} of {host}, for QEMU {machine.qemu} and later with"
        f" {machine.firmware}"
    )


def _plural(name: str, count: int) -> str:
    return "" if count == 1 else "es" if name.endswith("ch") else "s"


def tree_lines(plan: Plan) -> Iterator[tuple[int, str]]:
    """Yield the VM's tree: how deep each line stands, and what it says."""
    names = {bridge.name for bridge in plan.bridges}
    for bridge in plan.bridges:
        if bridge.parent not in names:
            yield from _below(plan, bridge, 0)


def _below(plan: Plan, bridge: Bridge, depth: int) -> Iterator[tuple[int, str]]:
    yield depth, _bridge(bridge)
    for function in plan.functions:
        if function.parent == bridge.name:
            yield depth + 1, _function(function)
    for below in plan.bridges:
        if below.parent == bridge.name:
            yield from _below(plan, below, depth + 1)


def _bridge(bridge: Bridge) -> str:
    words = [bridge.name, bridge.address, bridge.kind]
    if bridge.kind is BridgeKind.EXPANDER:
        near = "no NUMA node" if bridge.cell is None else f"NUMA node {bridge.cell}"
        words.append(f"bus {bridge.bus:02x}, {near} of the VM")
    elif bridge.stands_for is not None:
        words.append(f"for the host's {bridge.stands_for}")
    elif bridge.speed is not None:
        words.append(f"{bridge.speed.replace('_', '.')} GT/s x{bridge.width}")
    return "  ".join(words)


def _function(function: Passed) -> str:
    link = function.link_speed or "link not known"
    if function.link_speed is not None and function.link_width is not None:
        link = f"{link} x{function.link_width}"
    owner = "" if function.physical_function is None else f"  VF of {function.physical_function}"
    return (
        f"{function.name}  {function.guest_address}  {function.id}"
        f"  the host's {function.address}{owner}  {link}"
    )


def _cell(cell: Cell) -> str:
    """Return one NUMA node of the VM; numbers of CPUs as taskset takes them."""
    pages = "" if cell.hugepage_kib is None else f" in {_memory_of_page(cell.hugepage_kib)} pages"
    count = len(cell.vcpus)
    held = f"{count} vCPU{_plural('vCPU', count)}, {memory_told(cell.memory_mib)}{pages}"
    if cell.host_node is None:
        return f"NUMA node {cell.cell} of the VM: {held}, bound to nothing"
    pinned = f" on CPUs {number_list(cell.host_cpus)}" if cell.host_cpus else ""
    return f"NUMA node {cell.cell} of the VM: {held}, of the host's node {cell.host_node}{pinned}"


def _memory_of_page(kib: int) -> str:
    return memory_told(kib // _KIB_PER_MIB)
