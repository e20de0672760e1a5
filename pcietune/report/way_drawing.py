"""A packet's way, drawn in plain characters."""

from collections.abc import Iterator, Mapping

from pcietune.address import PciAddress
from pcietune.model.fabric import Fabric
from pcietune.model.function import PciFunction
from pcietune.model.trace import Decision, Step, Trace
from pcietune.report.port_names import port_name
from pcietune.report.route_words import decided

KEY = "^ on its way up, v on its way down, * decides"


def way_drawing(fabric: Fabric, trace: Trace, labels: Mapping[PciAddress, str]) -> Iterator[str]:
    """Yield the two functions and all that is above them as a tree; marks show the way.

    Args:
        fabric: The functions.
        trace: The way.
        labels: What the two are called, by address.
    """
    ours = [*fabric.ports_above(trace.source), trace.source]
    theirs = [*fabric.ports_above(trace.target), trace.target]
    alike = zip(ours, theirs, strict=False)
    depth = sum(one == other for one, other in alike)
    steps = {s.port.address: s for s in reversed(trace.steps) if s.port and _goes_up(s)}
    turned = _turned_at(trace, ours)
    arrives = trace.outcome.arrives
    down = 0 if turned is None else min(turned, depth)
    root = "root complex" + (", and its IOMMU" if trace.iommu else "")
    yield _line(root, 0, up=turned is None, down=turned is None and arrives)
    for chain, start in ((ours[:depth], 0), (ours[depth:], depth), (theirs[depth:], depth)):
        for index, function in enumerate(chain, start):
            on_ours, on_theirs = function in ours, function in theirs
            step = steps.get(function.address) if on_ours else None
            yield _line(
                _named(fabric, function, labels, _told(step, trace)),
                index + 1,
                up=on_ours and (turned is None or index >= turned),
                down=on_theirs and arrives and index >= down,
                decides=function == trace.at,
            )


def _goes_up(step: Step) -> bool:
    return step.decision is not Decision.DOWN


def _turned_at(trace: Trace, ours: list[PciFunction]) -> int | None:
    """Return where on the way up it ends, as an index; None at the root complex."""
    last = [step for step in trace.steps if _goes_up(step)][-1]
    return None if last.port is None else ours.index(last.port)


def _told(step: Step | None, trace: Trace) -> str:
    """Return what a port decided by one of its controls; empty if by none."""
    return "" if step is None or step.control is None else decided(step, trace.packet)


def _named(
    fabric: Fabric, function: PciFunction, labels: Mapping[PciAddress, str], did: str
) -> str:
    label = labels.get(function.address)
    if label is not None:
        return f"{label}  {function.address}"
    kind = port_name(fabric.port_type(function)) if function.is_pci_bridge else ""
    return "  ".join(part for part in (str(function.address), kind, did) if part)


def _line(text: str, depth: int, *, up: bool, down: bool, decides: bool = False) -> str:
    marks = f"{'*' if decides else '^' if up else ' '}{'v' if down else ' '}"
    return f"  {marks}  {'  ' * depth}{text}".rstrip()
