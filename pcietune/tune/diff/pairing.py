"""Which function of one host is which of the other."""

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass

from pcietune.address import PciAddress
from pcietune.model.not_known import NotKnown
from pcietune.tune.diff.function_facts import ENABLED_VFS
from pcietune.tune.diff.side import Known, Side


@dataclass(frozen=True, slots=True)
class Pairing:
    """The functions of two hosts.

    Attributes:
        pairs: Those that both have, the one before first.
        only_before: Functions that only the host before has; no VF whose PF tells of it.
        only_after: Alike.
    """

    pairs: tuple[tuple[Known, Known], ...]
    only_before: tuple[Known, ...]
    only_after: tuple[Known, ...]

    @property
    def moved(self) -> tuple[tuple[Known, Known], ...]:
        """Pairs at the same place with another address: only bus numbers differ."""
        return tuple(
            (one, other)
            for one, other in self.pairs
            if one.function.address != other.function.address
        )


def pair(before: Side, after: Side) -> Pairing:
    """Pair functions: at the same place with the same id, then by address and id, then by place.

    A place (location) survives a renumbering of buses. By address those are paired that are to
    be reached by another way, or whose bridges one of the two does not tell. Another id at the
    same place is a part that was replaced.
    """
    pairs: list[tuple[Known, Known]] = []
    left, right = list(before.functions.values()), list(after.functions.values())
    keys: tuple[Callable[[Known], Hashable], ...] = (
        lambda known: (known.function.location, known.function.id),
        lambda known: (known.function.address, known.function.id),
        lambda known: known.function.location,
    )
    for key in keys:
        found, left, right = _match(left, right, key)
        pairs += found
    pairs.sort(key=lambda each: each[0].function.address)
    partner = {one.function.address: (one, other) for one, other in pairs}
    back = {other.function.address: (one, other) for one, other in pairs}
    return Pairing(
        tuple(pairs),
        tuple(known for known in left if not _its_pf_tells(known, before, partner)),
        tuple(known for known in right if not _its_pf_tells(known, after, back)),
    )


def _match(
    left: Iterable[Known], right: Iterable[Known], key: Callable[[Known], Hashable]
) -> tuple[list[tuple[Known, Known]], list[Known], list[Known]]:
    """Return those of equal key, and who is left of each; a key is one function's on each host."""
    waiting = {key(known): known for known in right}
    found, alone = [], []
    for known in left:
        other = waiting.pop(key(known), None)
        if other is None:
            alone.append(known)
        else:
            found.append((known, other))
    return found, alone, list(waiting.values())


def _its_pf_tells(
    known: Known, side: Side, partner: Mapping[PciAddress, tuple[Known, Known]]
) -> bool:
    """Return whether a VF that only one host has needs no word: its PF is alike, or has others."""
    physical = known.physical_function
    if physical is None or physical not in side.functions:
        return False
    if physical not in partner:
        return True
    one, other = (_enabled_vfs(each) for each in partner[physical])
    return one is not None and other is not None and one != other


def _enabled_vfs(known: Known) -> str | NotKnown | None:
    """Return how many VFs a PF has; None if that could not be read."""
    return next((fact.value for fact in known.facts if fact.name == ENABLED_VFS), None)
