"""A packet's way, step by step, as the page tells it and lights it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pcietune.address import PciAddress
from pcietune.model.fabric import Fabric
from pcietune.model.function import PciFunction
from pcietune.model.trace import Decision, Step, Trace
from pcietune.report.html.anchors import of_function, of_host_bridge
from pcietune.report.route_words import MEANINGS, control_of, decided, sent


@dataclass(frozen=True, slots=True)
class WayStep:
    """One thing that a packet passes.

    Attributes:
        anchors: Ids of the boxes that it lights.
        name: Its address, or what it is called.
        did: What became of the packet there.
        decides: Whether it decided where the packet went.
    """

    anchors: tuple[str, ...]
    name: str
    did: str
    decides: bool = False


@dataclass(frozen=True, slots=True)
class Way:
    """Where a packet goes.

    Attributes:
        sent: What the packet is.
        outcome: Where it went, in two words.
        kind: The same for its looks.
        meaning: The same in a sentence.
        at: The port and the control that decided; empty if none did.
        reason: Why.
        steps: From the sender to where it ended up.
    """

    sent: str
    outcome: str
    kind: str
    meaning: str
    at: str
    reason: str
    steps: tuple[WayStep, ...]


def way(fabric: Fabric, trace: Trace, labels: Mapping[PciAddress, str]) -> Way:
    """Return a packet's way.

    Args:
        fabric: The functions.
        trace: What became of the packet.
        labels: What its two ends are called, by address.
    """
    return Way(
        sent=sent(trace.packet),
        outcome=trace.outcome,
        kind=trace.outcome.replace(" ", "-"),
        meaning=MEANINGS[trace.outcome],
        at=deciding(trace),
        reason=trace.reason,
        steps=tuple(_steps(fabric, trace, labels)),
    )


def deciding(trace: Trace) -> str:
    """Return the port and the control that decided; empty if none did."""
    step = next((s for s in trace.steps if s.port == trace.at and s.control), None)
    if step is None or trace.at is None:
        return ""
    return f"{trace.at.address} {control_of(step, trace.packet)}"


def _steps(fabric: Fabric, trace: Trace, labels: Mapping[PciAddress, str]) -> Iterator[WayStep]:
    ours = [*fabric.ports_above(trace.source), trace.source]
    theirs = fabric.ports_above(trace.target)
    going_up = {s.port.address: s for s in reversed(trace.steps) if s.port and _goes_up(s)}
    last = [step for step in trace.steps if _goes_up(step)][-1]
    top = 0 if last.port is None else ours.index(last.port)
    own = going_up.get(trace.source.address)
    yield WayStep(
        (of_function(trace.source.address),),
        f"{labels[trace.source.address]} {trace.source.address}",
        "sends it" if own is None else decided(own, trace.packet),
        decides=trace.source == trace.at,
    )
    for port in reversed(ours[top:-1]):
        step = going_up.get(port.address)
        did = "passes it up" if step is None else decided(step, trace.packet)
        yield _at_port(port, did, trace)
    arrives = trace.outcome.arrives
    if last.port is None:
        yield _at_root_complex(trace, arrives=arrives)
    if arrives:
        common = sum(one == other for one, other in zip(ours, theirs, strict=False))
        for port in theirs[min(top, common) :]:
            if port != last.port:
                yield _at_port(port, "passes it down", trace)
        name = f"{labels[trace.target.address]} {trace.target.address}"
        yield WayStep((of_function(trace.target.address),), name, "gets it")


def _goes_up(step: Step) -> bool:
    return step.decision is not Decision.DOWN


def _at_port(port: PciFunction, did: str, trace: Trace) -> WayStep:
    up = did != "passes it down"
    return WayStep(
        (of_function(port.address),), str(port.address), did, decides=up and port == trace.at
    )


def _at_root_complex(trace: Trace, *, arrives: bool) -> WayStep:
    ends = (trace.source, trace.target) if arrives else (trace.source,)
    translates = {True: ", translated by its IOMMU", False: "", None: ", translated or not"}
    return WayStep(
        tuple(dict.fromkeys(map(of_host_bridge, ends))),
        "root complex",
        f"turns it{translates[trace.iommu]}" if arrives else "ends it",
        decides=trace.at is None,
    )
