"""One pair in both directions, port by port, with what would make it direct."""

from collections.abc import Iterator, Mapping

from pcietune.address import PciAddress
from pcietune.model.fabric import Fabric
from pcietune.model.trace import Outcome, Trace
from pcietune.report.route_words import MEANINGS, control_of, sent
from pcietune.report.way_drawing import KEY, way_drawing
from pcietune.tune.paths.change import Cure
from pcietune.tune.paths.flow import Flow
from pcietune.tune.paths.view import Pair, Peer


def pair_lines(fabric: Fabric, pair: Pair) -> Iterator[str]:
    """Yield what there is to say of the routes between two peers."""
    labels = {peer.function.address: peer.label for peer in (pair.one, pair.other)}
    yield f"{_named(pair.one)} and {_named(pair.other)}: {pair.place}"
    cures = pair.cures or (None, None)
    once = (None, None) if pair.once is None else (pair.once.forth, pair.once.back)
    for sender, flow, later, cure in (
        (pair.one, pair.now.forth, once[0], cures[0]),
        (pair.other, pair.now.back, once[1], cures[1]),
    ):
        receiver = pair.other if sender is pair.one else pair.one
        yield ""
        yield f"{sender.label} asks {receiver.label}: {flow.sender.why}"
        yield from _flow_lines(fabric, flow, later, labels)
        if cure is not None:
            yield from _cure_lines(cure, flow)
    if pair.notes:
        yield ""
    for note in pair.notes:
        yield f"note  {note}"


def _named(peer: Peer) -> str:
    return f"{peer.label} {peer.function.address} ({peer.function.id})"


def _flow_lines(
    fabric: Fabric, flow: Flow, later: Flow | None, labels: Mapping[PciAddress, str]
) -> Iterator[str]:
    """Yield the writes with their drawing, and of all else what differs from them."""
    yield from _trace_lines(flow.write)
    yield from way_drawing(fabric, flow.write, labels)
    yield f"      {KEY}"
    if later is not None and later.write.outcome is not flow.write.outcome:
        yield f"  the same once the profile holds: {_ended(later.write)}"
    if flow.read.outcome is not flow.write.outcome or flow.read.at != flow.write.at:
        yield from _trace_lines(flow.read)
    yield from _trace_lines(flow.completion)
    if flow.relaxed is not None and flow.relaxed.outcome is not flow.completion.outcome:
        yield from _trace_lines(flow.relaxed)
        yield "    which is so only if the other copies Relaxed Ordering into it, as it need not"


def _trace_lines(trace: Trace) -> Iterator[str]:
    yield f"  {sent(trace.packet)}: {_ended(trace)}"
    if trace.outcome in (Outcome.BLOCKED, Outcome.MISROUTED, Outcome.TURNED_ABOVE):
        yield f"    {MEANINGS[trace.outcome]}"


def _ended(trace: Trace) -> str:
    """Return where a packet went, the port and the control that decided, and why."""
    deciding = next((s for s in trace.steps if s.port == trace.at and s.control), None)
    control = "" if deciding is None else control_of(deciding, trace.packet)
    named = trace.at is not None and control and control not in trace.reason
    where = "" if trace.at is None else f"{trace.at.address} {control if named else ''}".strip()
    where = f"{where}: " if where else ""
    return f"{trace.outcome}: {where}{trace.reason}"


def _cure_lines(cure: Cure, flow: Flow) -> Iterator[str]:
    if flow.write.outcome is Outcome.DIRECT and not cure.changes:
        return
    if cure.obstacle is not None:
        yield f"  nothing that a register can change: {cure.obstacle}"
        return
    if cure.to_know is not None:
        yield f"  to be known before a change is named: {cure.to_know}"
        return
    for number, change in enumerate(cure.changes, 1):
        first = "to make it direct" if len(cure.changes) == 1 else f"to make it direct, {number}"
        port = "" if change.port is None else f"{change.port.address} "
        yield f"  {first}: {port}{change.text}"
        yield f"    {change.kind}: {change.command}"
