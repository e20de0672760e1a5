"""How many of a host's ways are long, which ports and controls make them so, and what is next."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pcietune.model.trace import Outcome, Trace
from pcietune.report.route_words import control_of
from pcietune.tune.paths.bandwidth import BandwidthOf
from pcietune.tune.paths.flow import Flow
from pcietune.tune.paths.place import Place
from pcietune.tune.paths.view import PathsView, PeerKind

_KINDS = {
    "NIC to GPU": PeerKind.NIC,
    "NVMe drive to GPU": PeerKind.NVME,
    "GPU to GPU": PeerKind.GPU,
}


@dataclass(frozen=True, slots=True)
class _Way:
    """One peer's writes to another.

    Attributes:
        now: As the registers are.
        once: Once the profile holds; None where no mode or profile is known.
        place: How far apart the two are.
    """

    now: Trace
    once: Trace | None
    place: Place


def summary_lines(view: PathsView, bandwidth_of: BandwidthOf) -> Iterator[str]:
    """Yield the ways by kind: where they go, by what, what they carry; then what to look at next.

    Args:
        view: The host's pairs.
        bandwidth_of: Estimates what a way carries.
    """
    for title, kind in _KINDS.items():
        ways = _ways(view, kind)
        if not ways:
            continue
        yield f"{title}: {_counted([way.now for way in ways])}{_later(ways)}"
        yield from _reasons(ways)
        yield from _carried(ways, bandwidth_of)
    for note in view.notes:
        yield f"note  {note}"
    if view.mode is None and view.pairs:
        yield "note  no mode is set: --mode vm or --mode baremetal tells what the routes would be"
    example = next(
        (
            pair
            for pair in view.pairs.values()
            if pair.apart is None and not pair.now.forth.write.is_direct
        ),
        None,
    )
    if example is not None:
        yield (
            f"next  pcietune paths {example.one.label} {example.other.label}: a way port by port, "
            "and what would make it direct"
        )


def _ways(view: PathsView, kind: PeerKind) -> list[_Way]:
    """Return the headline's ways: what the first of a pair writes; of two GPUs, what each does."""
    ways = []
    for pair in view.pairs.values():
        if pair.one.kind is not kind:
            continue
        flows: list[tuple[Flow, Flow | None]] = [
            (pair.now.forth, None if pair.once is None else pair.once.forth)
        ]
        if kind is PeerKind.GPU:
            flows.append((pair.now.back, None if pair.once is None else pair.once.back))
        ways += [
            _Way(now.write, None if once is None else once.write, pair.place) for now, once in flows
        ]
    return ways


def _counted(traces: Sequence[Trace]) -> str:
    counts = Counter(trace.outcome for trace in traces)
    return ", ".join(f"{counts[outcome]} {outcome}" for outcome in Outcome if counts[outcome])


def _later(ways: Sequence[_Way]) -> str:
    once = [way.once for way in ways if way.once is not None]
    later, now = _counted(once), _counted([way.now for way in ways])
    return f"; once the profile holds {later}" if once and later != now else ""


def _reasons(ways: Sequence[_Way]) -> Iterator[str]:
    """Yield why ways are not direct: by which control of which port, or by what else."""
    reasons: Counter[str] = Counter()
    for way in ways:
        trace = way.now
        if trace.is_direct:
            continue
        step = next((s for s in trace.steps if s.port == trace.at and s.control), None)
        if trace.at is None or step is None:
            reasons[f"{trace.outcome}: {trace.reason}"] += 1
        else:
            control = control_of(step, trace.packet)
            reasons[f"{trace.outcome} by {trace.at.address} {control}"] += 1
    for reason, count in sorted(reasons.items()):
        yield f"  {count} {reason}"


def _carried(ways: Sequence[_Way], bandwidth_of: BandwidthOf) -> Iterator[str]:
    """Yield what ways of one kind carry, those alike in one line; estimates, and called so."""
    carried: dict[str, Counter[str]] = {}
    for way in ways:
        key = f"{way.place} {way.now.outcome}"
        carried.setdefault(key, Counter())[bandwidth_of(way.now, way.place).short] += 1
        if way.once is not None and way.once.outcome is not way.now.outcome:
            key = f"{way.place} {way.once.outcome}, once the profile holds"
            carried.setdefault(key, Counter())[bandwidth_of(way.once, way.place).short] += 1
    for key, figures in sorted(carried.items()):
        told = "; ".join(f"{figure} ({count})" for figure, count in sorted(figures.items()))
        yield f"  estimate, {key}: {told if len(figures) > 1 else next(iter(figures))}"
