"""Ways between GPUs and NICs on a real kernel: what apply changes of them, and what it does not."""

from collections.abc import Mapping, Sequence

import msgspec
import pytest

from bench.guest import Guest
from bench.on_guest import GENERIC, VM
from pcietune.report.paths_document import PathsDocument

pytestmark = pytest.mark.usefixtures("untouched")

Way = tuple[str, str, str]  # who asks, whom, and the packet
RC, DIRECT = "via root complex", "direct"


def shown(guest: Guest, *arguments: str) -> PathsDocument:
    return msgspec.json.decode(
        guest.pcietune("paths", "--json", *arguments).stdout, type=PathsDocument
    )


def ends(whole: PathsDocument) -> dict[Way, str]:
    """Return where each packet of both directions of every pair ends up."""
    return {
        (flow.requester, flow.completer, trace.packet): trace.outcome
        for pair in whole.pairs
        for flow in (pair.now.forth, pair.now.back)
        for trace in (flow.write, flow.read, flow.completion)
    }


def changes(guest: Guest, *arguments: str) -> dict[Way, tuple[str, str]]:
    """Apply; return the ways that end otherwise than before."""
    before = ends(shown(guest, *VM, *arguments))
    guest.pcietune("apply", *VM, *arguments)
    after = ends(shown(guest, *VM, *arguments))
    assert before.keys() == after.keys()
    return {way: (before[way], after[way]) for way in before if before[way] != after[way]}


def requests(guest: Guest, pairs: Mapping[str, Sequence[str]]) -> dict[Way, tuple[str, str]]:
    """Return that NICs' requests to GPUs become direct: writes, and what they ask to read."""
    return {
        (guest.address(nic), guest.address(gpu), packet): (RC, DIRECT)
        for nic, gpus in pairs.items()
        for gpu in gpus
        for packet in ("posted write", "read request")
    }


@pytest.mark.machine("a800")
def test_each_nics_requests_to_the_gpus_of_its_switch_become_direct_and_no_others(
    guest: Guest,
) -> None:
    expected = {
        **dict.fromkeys(("nic0", "nic1"), ("gpu0", "gpu1")),
        **dict.fromkeys(("nic2", "nic3"), ("gpu2", "gpu3")),
        **dict.fromkeys(("nic4", "nic5"), ("gpu4", "gpu5")),
        **dict.fromkeys(("nic6", "nic7"), ("gpu6", "gpu7")),
    }
    assert changes(guest) == requests(guest, expected)


@pytest.mark.machine("cascade")
def test_in_a_cascade_the_nics_requests_become_direct_in_both_leaves(guest: Guest) -> None:
    assert changes(guest, *GENERIC) == requests(guest, {"nic0": ("gpu0", "gpu1")})


@pytest.mark.machine("no-dt")
def test_behind_a_switch_that_cannot_and_in_a_group_rolled_back_nothing_changes(
    guest: Guest,
) -> None:
    pairs = {"nic1": ("gpu0",), "nic4": ("gpu2",), "nic5": ("gpu2",)}
    assert changes(guest, *GENERIC) == requests(guest, pairs)


@pytest.mark.machine("no-iommu", "no-device-tlb")
def test_without_translations_apply_makes_nothing_direct(guest: Guest) -> None:
    assert changes(guest, *GENERIC) == {}
    ways = ends(shown(guest, *VM, *GENERIC))
    assert not [way for way in ways if ways[way] == DIRECT and way[2] != "read completion"]
