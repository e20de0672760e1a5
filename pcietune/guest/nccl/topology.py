"""NCCL's topology file of a planned VM.

With emulated switches the file repeats the tree that NCCL finds, with the links' true speeds: an
emulated switch's own says 2.5 GT/s x1. In a flat VM it invents a switch around what is below one
of the host's. Root ports are in neither: NCCL's walk up sysfs passes over them.
Source: NCCL 2.30, ncclTopoGetXmlFromSys in src/graph/xml.cc.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pcietune.guest.devices import Passed
from pcietune.guest.kinds import Kind
from pcietune.guest.nccl.affinity import affinity_mask
from pcietune.guest.nccl.dialect import BRIDGE_CLASS, VERSIONS, Library
from pcietune.guest.nccl.element import Element
from pcietune.guest.nccl.link import FALLBACK_SPEED, FALLBACK_WIDTH, bandwidth, known_speed
from pcietune.guest.nccl.placing import Place, Switch, cell_of, merges_vfs, places
from pcietune.guest.nccl.wanted import Wanted, library_of
from pcietune.guest.plan import Plan

_UNKNOWN_NODE = -1


@dataclass(frozen=True, slots=True)
class Topology:
    """A topology file, and what is to be known of it.

    Attributes:
        root: The file's one element that holds all others.
        notes: What it assumes, and what it needs beside it, in sentences.
    """

    root: Element
    notes: tuple[str, ...]


def topology(plan: Plan, wanted: Wanted) -> Topology:
    """Return the topology file of a plan's GPUs and NICs."""
    found = places(plan, wanted)
    notes = [*_of_another_library(plan, wanted), *_taken_from_the_plan(found, wanted)]
    below: dict[int, list[Place]] = {each.cell: [] for each in plan.cells}
    for place in found:
        group = [other for other in found if other.switches[:1] == place.switches[:1]]
        cell = cell_of(group if place.switches else [place], plan)
        if cell is None:
            notes.append(
                f"{place.function.name}: which NUMA node it is near to is not known: it is"
                " below numaid -1, as NCCL puts it by itself"
            )
        below.setdefault(_UNKNOWN_NODE if cell is None else cell, []).append(place)
    if not merges_vfs(plan, wanted):
        notes.append(
            "a NIC has another Device Number than 0: this file needs NCCL_IB_MERGE_VFS=0 beside it"
        )
    notes.extend(_speeds_of_vfs(found))
    cpus = {each.cell: affinity_mask(each.vcpus) for each in plan.cells}
    version = str(VERSIONS[wanted.library])
    elements = tuple(
        Element("cpu", _cpu(number, cpus.get(number), wanted), _tree(group, 0, notes))
        for number, group in below.items()
    )
    return Topology(Element("system", (("version", version),), elements), tuple(notes))


def _speeds_of_vfs(found: Sequence[Place]) -> Iterator[str]:
    """Yield that VFs say more than they may have (NVIDIA/nccl, issue 1303)."""
    vfs = [each.function.name for each in found if each.function.physical_function is not None]
    if vfs:
        yield (
            f"{', '.join(vfs)}: to NCCL a VF has the speed of its whole port; where others use"
            " that, too, expect less"
        )


def _of_another_library(plan: Plan, wanted: Wanted) -> Iterator[str]:
    """Yield that the plan's GPUs are run by the library that the file is not for."""
    runs = library_of(plan)
    if runs is not wanted.library and any(each.kind is Kind.GPU for each in plan.functions):
        option = "with --rccl" if runs is Library.RCCL else "without --rccl"
        yield f"the plan's GPUs have {runs.upper()}, which refuses this file: write it {option}"


def _taken_from_the_plan(found: Sequence[Place], wanted: Wanted) -> Iterator[str]:
    """Yield which functions have no address by hand, where others have one."""
    left = [each.function.name for each in found if each.function.name not in wanted.addresses]
    if wanted.addresses and left:
        names = ", ".join(left)
        yield f"no --address tells where {names} are: the file has them where the plan has"


def _cpu(number: int, affinity: str | None, wanted: Wanted) -> tuple[tuple[str, str], ...]:
    mask = () if affinity is None else (("affinity", affinity),)
    return (("numaid", str(number)), *mask, *wanted.cpu)


def _tree(group: Sequence[Place], depth: int, notes: list[str]) -> tuple[Element, ...]:
    """Return what is below a cpu, or below the switch at a depth, in the order of bus ids."""
    elements = {place.bus_id: _leaf(place) for place in group if len(place.switches) == depth}
    switches: dict[Switch, list[Place]] = {}
    for place in group:
        if len(place.switches) > depth:
            switches.setdefault(place.switches[depth], []).append(place)
    for switch, below in switches.items():
        link = _uplink(switch, [place.function for place in below], notes)
        attributes = (("busid", switch.bus_id), ("class", BRIDGE_CLASS), *link)
        elements[switch.bus_id] = Element("pci", attributes, _tree(below, depth + 1, notes))
    return tuple(elements[bus_id] for bus_id in sorted(elements))


def _leaf(place: Place) -> Element:
    function = place.function
    speed = known_speed(function.link_speed)
    return Element(
        "pci",
        (
            ("busid", place.bus_id),
            ("class", function.class_code),
            *((("link_speed", speed),) if speed else ()),
            *((("link_width", str(function.link_width)),) if function.link_width else ()),
        ),
    )


def _uplink(
    switch: Switch, functions: Sequence[Passed], notes: list[str]
) -> tuple[tuple[str, str], ...]:
    """Return the link between a switch and what is above it: the host's, as far as it is known."""
    bridge = switch.upstream
    speed = known_speed(bridge.link_speed) if bridge is not None else None
    if bridge is not None and speed is not None and bridge.link_width:
        return ("link_speed", speed), ("link_width", str(bridge.link_width))
    known = [
        (known, each.link_width, each.name)
        for each in functions
        if (known := known_speed(each.link_speed)) is not None and each.link_width
    ]
    if not known:
        notes.append(
            f"the switch {switch.bus_id}: no link below it is known: it has the one that NCCL"
            " takes for such"
        )
        return ("link_speed", FALLBACK_SPEED), ("link_width", str(FALLBACK_WIDTH))
    speed, width, like = max(known, key=lambda each: bandwidth(each[0], each[1]))
    notes.append(
        f"the switch {switch.bus_id}: the plan does not tell the host's link above it: it has"
        f" that of {like}, {speed} x{width} (inference)"
    )
    return ("link_speed", speed), ("link_width", str(width))
