"""Who shares an IOMMU group with whom: the members are compared, not the group's number."""

from collections.abc import Iterator, Mapping

from pcietune.address import PciAddress
from pcietune.model.not_known import NOT_KNOWN, NotKnown
from pcietune.tune.diff.fact import Change, Kind, Untold
from pcietune.tune.diff.pairing import Pairing
from pcietune.tune.diff.side import Known, Side

_NAME = "IOMMU group"
_NO_GROUP = "no group"
_ALONE = "alone"
Names = Mapping[PciAddress, str]


def membership_changes(
    pairing: Pairing, before: Side, after: Side
) -> Iterator[tuple[Known, Known, Change | Untold]]:
    """Yield the pairs whose company differs, or of which it is not told."""
    same = {other.function.address: str(one.function.address) for one, other in pairing.pairs}
    for one, other in pairing.pairs:
        ours, theirs = _members(one, before), _members(other, after)
        if isinstance(ours, NotKnown) or isinstance(theirs, NotKnown):
            untold = (isinstance(ours, NotKnown), isinstance(theirs, NotKnown))
            yield one, other, Untold(Kind.GROUP, _NAME, *untold)
            continue
        if ours is None or theirs is None:
            differs = ours is not theirs
        else:
            differs = {str(member) for member in ours} != {
                same.get(member, f"after {member}") for member in theirs
            }
        if differs:
            yield one, other, Change(Kind.GROUP, _NAME, _told(ours), _told(theirs))


def _members(known: Known, side: Side) -> tuple[PciAddress, ...] | NotKnown | None:
    """Return the members of a function's group, itself too; None if it is in none."""
    if known.state is None or known.state.group is NOT_KNOWN:
        return NOT_KNOWN
    if known.state.group is None:
        return None
    group = side.platform.group(known.state.group)
    return NOT_KNOWN if group is None else group.members


def _told(members: tuple[PciAddress, ...] | None) -> str:
    if members is None:
        return _NO_GROUP
    return _ALONE if len(members) <= 1 else f"together: {' '.join(map(str, members))}"
