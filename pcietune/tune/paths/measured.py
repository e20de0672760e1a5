"""Compare what was measured of a pair with what its way can carry.

The bounds are in parts of the narrowest link after its coding. Headers leave 80 to 87 % of it for
payload of 128 to 256 bytes a packet, so that 70 % and more is all of it. By way of the root
complex, public reports have 50 to 60 % of that, and a third where processors are slow at it
(NVIDIA/nccl 949 and 814, intel/compute-runtime 935): 30 to 55 % of the link.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from pcietune.errors import BadInputError
from pcietune.model.trace import Outcome, Trace
from pcietune.tune.paths.bandwidth import Bandwidth, BandwidthClass
from pcietune.tune.paths.results.gdsio import read_gdsio
from pcietune.tune.paths.results.nccl_tests import read_nccl_tests
from pcietune.tune.paths.results.nvbandwidth import read_nvbandwidth, read_nvbandwidth_json
from pcietune.tune.paths.results.perftest import read_perftest
from pcietune.tune.paths.results.result import Measured, Program
from pcietune.tune.paths.view import Pair

_DIRECT = 0.70
_NETWORKS = (10, 25, 40, 50, 56, 100, 200, 400, 800)  # Gb/s: Ethernet and InfiniBand
_NEAR_NETWORK = (0.88, 1.0)  # of its rate: what RDMA makes of it with large messages


class VerdictKind(StrEnum):
    """What a result says of the way."""

    WRONG = "wrong data"
    DIRECT = "as a direct way"
    ROOT_COMPLEX = "as by way of the root complex"
    BETWEEN = "between the two"
    NETWORK = "as the network lets it"
    FAR_BELOW = "far below both"
    TOO_FAST = "more than the way can carry"
    UNKNOWN = "nothing to compare it with"


_BOUNDS = (
    (1.02, VerdictKind.TOO_FAST),  # rounding, and clocks that are a little fast
    (_DIRECT, VerdictKind.DIRECT),
    (0.55, VerdictKind.BETWEEN),
    (0.30, VerdictKind.ROOT_COMPLEX),
    (0.0, VerdictKind.FAR_BELOW),
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """A result, compared.

    Attributes:
        measured: The result.
        kind: What it says.
        share: Which part of the narrowest link it is, one way; None if that is not known.
        text: All of it in words.
        agrees: Whether that is what the way is, by the registers; None if it does not tell.
    """

    measured: Measured
    kind: VerdictKind
    share: float | None
    text: str
    agrees: bool | None = None


def parse_measured(lines: Sequence[str], name: str) -> tuple[Measured, ...]:
    """Return the results in the output of one or more programs.

    Args:
        lines: Its lines.
        name: What messages call the file.

    Raises:
        BadInputError: There is none, or one makes no sense.
    """
    text = "\n".join(lines)
    if text.lstrip().startswith("{"):
        found = tuple(read_nvbandwidth_json(text, name))
    else:
        readers = (read_perftest, read_nvbandwidth, read_nccl_tests, read_gdsio)
        found = tuple(result for read in readers for result in read(lines, name))
    if not found:
        raise BadInputError(
            f"{name}: no result between two devices",
            hint="it takes what ib_write_bw, ib_read_bw, nvbandwidth (-j, too), all_reduce_perf "
            "and gdsio print",
        )
    return found


def about(found: Iterable[Measured], pair: Pair) -> tuple[Measured, ...]:
    """Return the results that are of a pair, or do not tell of what they are."""
    ends = {pair.one.function.address, pair.other.function.address}
    return tuple(each for each in found if each.ends is None or each.ends == ends)


def judge(measured: Measured, bandwidth: Bandwidth, trace: Trace) -> Verdict:
    """Return what a result says of a way.

    Args:
        measured: The result.
        bandwidth: What the way can carry.
        trace: The way that its data takes.
    """
    one_way = measured.gigabytes / 2 if measured.both_ways else measured.gigabytes
    share = None if not bandwidth.gigabytes else one_way / bandwidth.gigabytes
    kind = _kind(measured, one_way, share)
    agrees = _agrees(kind, bandwidth, trace)
    parts = [_headline(measured, kind, one_way), _basis(kind, bandwidth, share)]
    parts += [_advice(kind, trace), _contradiction(kind, trace, agrees=agrees)]
    parts += _unproved(measured, kind)
    return Verdict(measured, kind, share, "; ".join(filter(None, parts)), agrees)


def _kind(measured: Measured, one_way: float, share: float | None) -> VerdictKind:
    if measured.wrong:
        return VerdictKind.WRONG
    if share is None:
        return VerdictKind.UNKNOWN
    if share < _DIRECT and measured.program is Program.PERFTEST and _network(one_way):
        return VerdictKind.NETWORK
    return next(kind for above, kind in _BOUNDS if share >= above)


def _network(one_way: float) -> int | None:
    """Return the network's rate that a result is just below, in Gb/s; None if it is near none."""
    least, most = _NEAR_NETWORK
    bits = one_way * 8
    return next((rate for rate in _NETWORKS if least * rate <= bits <= most * rate), None)


def _agrees(kind: VerdictKind, bandwidth: Bandwidth, trace: Trace) -> bool | None:
    """Return whether a result is as the registers have the way."""
    if trace.outcome is Outcome.UNKNOWN:
        return None
    if bandwidth.klass is BandwidthClass.NONE:
        return kind is VerdictKind.WRONG
    if kind is VerdictKind.DIRECT:
        # Between root ports no link is crossed twice: nothing tells the two apart.
        return True if trace.is_direct else None if bandwidth.uplink is None else False
    if kind is VerdictKind.ROOT_COMPLEX:
        return not trace.is_direct
    return None


def _headline(measured: Measured, kind: VerdictKind, one_way: float) -> str:
    named = f"{measured.where}: {measured.program} {measured.test}"
    if kind is VerdictKind.WRONG:
        fast = f"{measured.gigabytes:.3g} GB/s and " if measured.gigabytes else ""
        return (
            f"{named}: WRONG DATA: {fast}{measured.wrong} wrong values or checks; fast and wrong "
            "is a fault, whatever the figure"
        )
    rate = f"{measured.gigabytes:.3g} GB/s"
    if measured.both_ways:
        rate += f" both ways together, {one_way:.3g} GB/s each"
    network = _network(one_way)
    of_network = f", {network} Gb/s" if kind is VerdictKind.NETWORK and network else ""
    return f"{named}: {rate}, {kind}{of_network}"


def _basis(kind: VerdictKind, bandwidth: Bandwidth, share: float | None) -> str:
    if share is None or kind is VerdictKind.WRONG:
        return ""
    return f"{share:.0%} of the narrowest link's {bandwidth.short.removeprefix('<=')} (estimate)"


def _advice(kind: VerdictKind, trace: Trace) -> str:
    end = f"{trace.source.address} to {trace.target.address}"
    return {
        VerdictKind.WRONG: "look for a way that is misrouted or an IOMMU that does not map the "
        f"peer, {end}, and use the pair for nothing until it is mended",
        VerdictKind.FAR_BELOW: "look at link width and speed, driver, NUMA node, MaxPayload, and "
        "at whether GPU memory was used at all",
        VerdictKind.TOO_FAST: "the data went another way (NVLink, a cache), or never arrived: "
        "check it with all_reduce_perf -c 1",
        VerdictKind.NETWORK: "either the network is the limit, or the way is and it looks alike: "
        "compare with the host's memory in the place of the GPU's",
        VerdictKind.BETWEEN: "too much for most root complexes, and too little for the links: look "
        "at what else shares them",
    }.get(kind, "")


def _contradiction(kind: VerdictKind, trace: Trace, *, agrees: bool | None) -> str:
    if agrees is not False:
        return ""
    if kind is VerdictKind.ROOT_COMPLEX:
        return (
            "by the registers the way is direct: were they so while it was measured, and does the "
            "requester send as is assumed (ATS, Relaxed Ordering)?"
        )
    return (
        f"by the registers the way is {trace.outcome}: was it so while this was measured, and was "
        "the data checked?"
    )


def _unproved(measured: Measured, kind: VerdictKind) -> list[str]:
    """Return what a result does not prove by itself."""
    told = []
    if measured.wrong is None and kind is not VerdictKind.TOO_FAST:
        told.append("that the data was right is not told: all_reduce_perf -c 1 checks it")
    if measured.gpu_memory is None:
        told.append("the text does not show that GPU memory was used (--use_cuda, --use_rocm)")
    return told
