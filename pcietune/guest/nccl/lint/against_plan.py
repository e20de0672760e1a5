"""What a topology file says otherwise than the plan of the VM that it is for."""

from collections.abc import Iterator, Mapping

from pcietune.errors import quoted
from pcietune.guest.nccl.affinity import affinity_mask, parse_affinity
from pcietune.guest.nccl.link import bandwidth, known_speed
from pcietune.guest.nccl.lint.complaint import Found, Severity
from pcietune.guest.nccl.lint.functions import kind_of
from pcietune.guest.nccl.lint.node import Node, c_integer
from pcietune.guest.nccl.placing import Place, places
from pcietune.guest.nccl.wanted import Wanted
from pcietune.guest.plan import Plan


def against_plan(system: Node, plan: Plan, wanted: Wanted) -> Iterator[Found]:
    """Yield where a file and the plan differ, with the addresses that are wanted in its place."""
    planned = {place.bus_id: place for place in places(plan, wanted)}
    written: dict[str, Node] = {}
    for pci in system.below("pci"):
        written.setdefault((pci.get("busid") or "").lower(), pci)
    yield from _missing(system, planned, written)
    yield from _not_planned(planned, written)
    yield from _nodes(system, plan)
    yield from _masks(system, plan)
    for bus_id in planned.keys() & written.keys():
        yield from _cell(planned[bus_id], written[bus_id])
        yield from _link(planned[bus_id], written[bus_id])
        yield from _kind(planned[bus_id], written[bus_id])
    yield from _shared_ports(planned, written)
    yield from _neighbours(planned, written)


def _missing(
    system: Node, planned: Mapping[str, Place], written: Mapping[str, Node]
) -> Iterator[Found]:
    for bus_id in planned.keys() - written.keys():
        function = planned[bus_id].function
        yield Found(
            system.offset,
            Severity.ERROR,
            "not-in-file",
            f"{function.name} at {bus_id} is not in the file: NCCL puts it where sysfs has it",
            f'write a pci with busid="{bus_id}"',
        )


def _not_planned(planned: Mapping[str, Place], written: Mapping[str, Node]) -> Iterator[Found]:
    on_host = {each.function.address: each.function.name for each in planned.values()}
    for bus_id, pci in written.items():
        if bus_id in planned or kind_of(pci.get("class") or "") not in {"gpu", "nic"}:
            continue
        if bus_id in on_host:
            name = on_host[bus_id]
            address = next(
                (each.bus_id for each in planned.values() if each.function.name == name), ""
            )
            yield Found(
                pci.at("busid"),
                Severity.ERROR,
                "host-address",
                f"{bus_id} is {name} on the host: in the VM it is {address}, and NCCL looks for"
                " that",
                f'write busid="{address}"',
            )
        else:
            yield Found(
                pci.at("busid"),
                Severity.WARNING,
                "not-in-plan",
                f"{bus_id} is not of the plan: NCCL drops what the VM has not",
                "remove it, or write the address that the VM has",
            )


def _nodes(system: Node, plan: Plan) -> Iterator[Found]:
    """Yield NUMA nodes that the VM has not; what is below none is told of without a plan."""
    cells = [str(each.cell) for each in plan.cells]
    for cpu in system.children:
        numaid = cpu.get("numaid")
        if numaid is None or c_integer(numaid) < 0 or str(c_integer(numaid)) in cells:
            continue
        yield Found(
            cpu.at("numaid"),
            Severity.ERROR,
            "no-such-node",
            f"numaid {numaid}: the VM has no such NUMA node, but {', '.join(cells)}: what NCCL"
            " finds by itself is then near to another cpu",
            f'write numaid="{cells[0]}", or which of them it is',
        )


def _masks(system: Node, plan: Plan) -> Iterator[Found]:
    cells = {str(each.cell): frozenset(each.vcpus) for each in plan.cells}
    for cpu in system.children:
        numaid, text = cpu.get("numaid") or "", cpu.get("affinity")
        mask = None if text is None else parse_affinity(text)
        if mask is None or numaid not in cells or mask == cells[numaid]:
            continue
        other = next((cell for cell, cpus in cells.items() if cpus == mask), None)
        what = f"those of numaid {other}: they are swapped" if other else "not those of the plan"
        yield Found(
            cpu.at("affinity"),
            Severity.ERROR,
            "affinity-plan",
            f"affinity {quoted(text or '')} of numaid {numaid}: the CPUs are {what}",
            f'write affinity="{affinity_mask(cells[numaid])}"',
        )


def _cell(place: Place, pci: Node) -> Iterator[Found]:
    numaid = next((each.get("numaid") for each in pci.above() if each.name == "cpu"), None)
    if place.cell is not None and numaid is not None and c_integer(numaid) != place.cell:
        yield Found(
            pci.at("busid"),
            Severity.ERROR,
            "wrong-cpu",
            f"{place.function.name} is below numaid {numaid}, and near to {place.cell}",
            f'put it into the cpu with numaid="{place.cell}"',
        )


def _link(place: Place, pci: Node) -> Iterator[Found]:
    speed, width = known_speed(place.function.link_speed), place.function.link_width
    its = pci.get("link_speed"), pci.get("link_width")
    if speed is None or not width or its[0] is None or its[1] is None:
        return
    if bandwidth(its[0], c_integer(its[1])) != bandwidth(speed, width):
        yield Found(
            pci.at("link_speed"),
            Severity.WARNING,
            "link-plan",
            f"{place.function.name} has a link of {quoted(its[0])} x{its[1]}, and on the host one"
            f" of {speed} x{width}",
            f'write link_speed="{speed}" link_width="{width}"',
        )


def _kind(place: Place, pci: Node) -> Iterator[Found]:
    name, function = pci.get("class"), place.function
    if name is not None and kind_of(name) != function.kind:
        yield Found(
            pci.at("class"),
            Severity.WARNING,
            "class-plan",
            f"class {quoted(name)} of {function.name}: that of a {kind_of(name)}; only newer NCCL"
            " asks sysfs instead",
            f'write class="{function.class_code}"',
        )


def _shared_ports(planned: Mapping[str, Place], written: Mapping[str, Node]) -> Iterator[Found]:
    """Yield functions of one NIC that each declare a speed: NCCL takes them for as many NICs."""
    seen: dict[str, str] = {}
    for bus_id in sorted(planned.keys() & written.keys()):
        function = planned[bus_id].function
        net = next((each for each in written[bus_id].below("net") if each.get("speed")), None)
        if net is None:
            continue
        other = seen.setdefault(function.physical_function or function.address, function.name)
        if other != function.name:
            yield Found(
                net.at("speed"),
                Severity.WARNING,
                "shared-port",
                f"{function.name} and {other} are of one NIC of the host, and each has a speed:"
                " NCCL counts both",
                "write of each what its share of the port is, or leave speed out",
            )


def _neighbours(planned: Mapping[str, Place], written: Mapping[str, Node]) -> Iterator[Found]:
    """Yield pairs below one switch of the host that the file has apart, or the other way round."""
    both = sorted(planned.keys() & written.keys())
    for number, one in enumerate(both):
        for other in both[number + 1 :]:
            first, second = planned[one].function, planned[other].function
            together = first.switch is not None and first.switch == second.switch
            beside = bool(_bridges(written[one]) & _bridges(written[other]))
            if together == beside:
                continue
            said = (
                f"{first.name} and {second.name} are below one switch of the host, and not here:"
                " NCCL copies between them through memory"
                if together
                else f"{first.name} and {second.name} are below one switch here, and not on the"
                " host: NCCL expects a short way that there is not"
            )
            advice = "put those of one switch into one pci with class 0x060400, others apart"
            yield Found(written[other].offset, Severity.ERROR, "neighbours", said, advice)


def _bridges(pci: Node) -> set[int]:
    return {each.offset for each in pci.above() if each.name == "pci"}
