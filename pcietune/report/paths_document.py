"""A host's pairs as JSON."""

from collections.abc import Sequence

import msgspec

from pcietune import __version__
from pcietune.model.packet import PacketKind
from pcietune.model.trace import Step, Trace
from pcietune.registers.acs import LSPCI_NAMES
from pcietune.report.json_text import encode
from pcietune.report.paths_transport import TransportDocument, Transports, transport_document
from pcietune.tune.paths.change import Change, Cure
from pcietune.tune.paths.flow import Flow
from pcietune.tune.paths.guest_view import Guest
from pcietune.tune.paths.sender import Sender
from pcietune.tune.paths.view import Pair, PathsView, Peer

SCHEMA = 1


class PeerDocument(msgspec.Struct, kw_only=True, frozen=True):
    """A GPU, NIC or NVMe drive; docs/json.md explains each key."""

    label: str
    kind: str
    address: str
    path: str
    id: str
    numa_node: int | None
    virtual_functions: int


class StepDocument(msgspec.Struct, kw_only=True, frozen=True):
    """What one port did; the root complex has no address."""

    address: str | None
    path: str | None
    decision: str
    control: str | None
    on: bool | None


class TraceDocument(msgspec.Struct, kw_only=True, frozen=True):
    """A packet's way."""

    packet: str
    addressing: str | None
    translated: bool | None
    relaxed_ordering: bool
    outcome: str
    reason: str
    at: str | None
    control: str | None
    iommu: bool | None
    steps: list[StepDocument]


class ChangeDocument(msgspec.Struct, kw_only=True, frozen=True):
    """One thing to be done."""

    kind: str
    text: str
    command: str
    address: str | None
    bits: list[str]


class CureDocument(msgspec.Struct, kw_only=True, frozen=True):
    """What makes writes direct, or why nothing does, or what must be known before."""

    changes: list[ChangeDocument]
    obstacle: str | None
    to_know: str | None


class FlowDocument(msgspec.Struct, kw_only=True, frozen=True):
    """One peer's requests to another, and the answers."""

    requester: str
    completer: str
    translated: bool | None
    relaxed_ordering: bool | None
    maps_peers: bool | None
    why: str
    write: TraceDocument
    read: TraceDocument
    completion: TraceDocument
    relaxed_completion: TraceDocument | None


class WaysDocument(msgspec.Struct, kw_only=True, frozen=True):
    """Both directions."""

    forth: FlowDocument
    back: FlowDocument


class PairDocument(msgspec.Struct, kw_only=True, frozen=True):
    """Two peers."""

    one: str
    other: str
    place: str
    now: WaysDocument
    once: WaysDocument | None
    cure_forth: CureDocument | None
    cure_back: CureDocument | None
    transport: TransportDocument | None
    apart: str | None
    notes: list[str]


class PathsDocument(msgspec.Struct, kw_only=True, frozen=True):
    """A host's pairs."""

    schema: int
    pcietune: str
    mode: str | None
    peers: list[PeerDocument]
    pairs: list[PairDocument]
    guest: list[str] | None
    notes: list[str]
    problems: list[str]


def paths_document(
    view: PathsView, pairs: Sequence[Pair], transports: Transports, guest: Guest | None
) -> str:
    """Return pairs of a host as JSON text."""
    whole = PathsDocument(
        schema=SCHEMA,
        pcietune=__version__,
        mode=view.mode,
        peers=[_peer(peer) for peer in view.peers],
        pairs=[_pair(pair, transports) for pair in pairs],
        guest=None if guest is None else list(guest.sentences),
        notes=list(view.notes),
        problems=[str(problem) for problem in view.problems],
    )
    return encode(whole)


def _peer(peer: Peer) -> PeerDocument:
    known = peer.numa_node if peer.numa_node is not None and peer.numa_node >= 0 else None
    return PeerDocument(
        label=peer.label,
        kind=peer.kind,
        address=str(peer.function.address),
        path=peer.function.location,
        id=peer.function.id,
        numa_node=known,
        virtual_functions=peer.virtual_functions,
    )


def _pair(pair: Pair, transports: Transports) -> PairDocument:
    forth, back = pair.cures or (None, None)
    transport = transports.get((pair.one.function.address, pair.other.function.address))
    once = None
    if pair.once is not None:
        once = WaysDocument(forth=_flow(pair.once.forth), back=_flow(pair.once.back))
    return PairDocument(
        one=str(pair.one.function.address),
        other=str(pair.other.function.address),
        place=pair.place,
        now=WaysDocument(forth=_flow(pair.now.forth), back=_flow(pair.now.back)),
        once=once,
        cure_forth=None if forth is None else _cure(forth),
        cure_back=None if back is None else _cure(back),
        transport=None if transport is None else transport_document(transport),
        apart=pair.apart,
        notes=list(pair.notes),
    )


def _flow(flow: Flow) -> FlowDocument:
    sender: Sender = flow.sender
    return FlowDocument(
        requester=str(sender.function.address),
        completer=str(flow.completer.address),
        translated=sender.translated,
        relaxed_ordering=sender.relaxed_ordering,
        maps_peers=sender.mapped,
        why=sender.why,
        write=_trace(flow.write),
        read=_trace(flow.read),
        completion=_trace(flow.completion),
        relaxed_completion=None if flow.relaxed is None else _trace(flow.relaxed),
    )


def _trace(trace: Trace) -> TraceDocument:
    packet = trace.packet
    by_id = packet.kind is PacketKind.COMPLETION
    return TraceDocument(
        packet=packet.kind,
        addressing=None if by_id else packet.address,
        translated=packet.translated,
        relaxed_ordering=packet.relaxed_ordering,
        outcome=trace.outcome,
        reason=trace.reason,
        at=None if trace.at is None else str(trace.at.address),
        control=None if trace.control is None else LSPCI_NAMES[trace.control],
        iommu=trace.iommu,
        steps=[_step(step) for step in trace.steps],
    )


def _step(step: Step) -> StepDocument:
    return StepDocument(
        address=None if step.port is None else str(step.port.address),
        path=None if step.port is None else step.port.location,
        decision=step.decision,
        control=None if step.control is None else LSPCI_NAMES[step.control],
        on=step.on,
    )


def _cure(cure: Cure) -> CureDocument:
    return CureDocument(
        changes=[_change(each) for each in cure.changes],
        obstacle=cure.obstacle,
        to_know=cure.to_know,
    )


def _change(change: Change) -> ChangeDocument:
    return ChangeDocument(
        kind=change.kind,
        text=change.text,
        command=change.command,
        address=None if change.port is None else str(change.port.address),
        bits=[str(want) for want in change.wants],
    )
