"""What the ways of one pair can carry, what measures them, and what was measured."""

from collections.abc import Iterator, Sequence

from pcietune.tune.paths.bandwidth import BandwidthOf
from pcietune.tune.paths.measured import about, judge
from pcietune.tune.paths.measuring import commands
from pcietune.tune.paths.results.result import Measured
from pcietune.tune.paths.view import Pair


def bandwidth_lines(pair: Pair, bandwidth_of: BandwidthOf) -> Iterator[str]:
    """Yield what each direction's writes can carry, now and once the profile holds."""
    once = (None, None) if pair.once is None else (pair.once.forth, pair.once.back)
    yield ""
    for sender, receiver, flow, later in (
        (pair.one, pair.other, pair.now.forth, once[0]),
        (pair.other, pair.one, pair.now.back, once[1]),
    ):
        now = bandwidth_of(flow.write, pair.place)
        yield f"bandwidth  {sender.label} writes to {receiver.label}: {now.text}"
        if later is not None and later.write.outcome is not flow.write.outcome:
            text = bandwidth_of(later.write, pair.place).text
            yield f"  once the profile holds: {text}"


def measuring_lines(pair: Pair, *, in_vm: bool) -> Iterator[str]:
    """Yield the commands that measure a pair."""
    yield ""
    yield "to measure it, and compare by --measured FILE:"
    for line in commands(pair, in_vm=in_vm):
        yield f"  {line}"


def measured_lines(
    pair: Pair, bandwidth_of: BandwidthOf, found: Sequence[Measured]
) -> Iterator[str]:
    """Yield what results say of a pair's way, the first's writes to the second."""
    way = pair.now.forth.write
    bandwidth = bandwidth_of(way, pair.place)
    results = about(found, pair)
    yield ""
    if not results:
        yield "measured  none of the results is of these two"
    for result in results:
        yield f"measured  {judge(result, bandwidth, way).text}"
