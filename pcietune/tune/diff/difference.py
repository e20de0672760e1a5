"""What differs between two hosts, and what could not be compared."""

from collections.abc import Sequence
from dataclasses import dataclass

from pcietune.address import PciAddress
from pcietune.model.location import location_order
from pcietune.tune.diff.fact import Change, Kind, Untold


@dataclass(frozen=True, slots=True)
class Subject:
    """What a difference is about.

    Attributes:
        path: A function's location, before if it has one there; an IOMMU unit's name; ``host``.
        before: Its address on the host before; None if it is none of a function, or not there.
        after: Alike.
        to: Of a pair, the function that is sent to; None otherwise.
        label: A pair's name on the host before, such as ``NIC0 -> GPU2``; empty otherwise.
    """

    path: str
    before: PciAddress | None = None
    after: PciAddress | None = None
    to: "Subject | None" = None
    label: str = ""

    @property
    def order(self) -> tuple[bool, int, str, str]:
        """The key that sorts what is the host's first, and then by location."""
        is_function = self.before is not None or self.after is not None
        return (is_function, *location_order(self.path), "" if self.to is None else self.to.path)


@dataclass(frozen=True, slots=True)
class Difference:
    """One fact of one subject that two hosts have otherwise.

    Attributes:
        subject: What it is about.
        change: What was, and what is.
        by: Of a route, what else differs on the way and decides; empty if nothing does, and of
            all other facts.
    """

    subject: Subject
    change: Change
    by: str = ""


@dataclass(frozen=True, slots=True)
class NotTold:
    """Facts of one name that were not compared.

    Attributes:
        what: Which they are, and whose source does not tell them.
        subjects: Of how many subjects.
    """

    what: Untold
    subjects: int


@dataclass(frozen=True, slots=True)
class Diff:
    """How two hosts differ.

    Attributes:
        differences: By subject: the host's first, then in the order of locations, then by kind.
        not_told: What could not be compared.
        moved: Functions that are the same and have another address, which is no difference.
        compared: How many functions were laid beside each other.
        routes: How many routes were; None if routes were not compared.
    """

    differences: tuple[Difference, ...]
    not_told: tuple[NotTold, ...]
    moved: tuple[Subject, ...]
    compared: int
    routes: int | None


def in_order(differences: Sequence[Difference]) -> tuple[Difference, ...]:
    """Return the differences by subject, then kind; of one kind as they were found."""
    kinds = list(Kind)
    return tuple(
        sorted(differences, key=lambda each: (each.subject.order, kinds.index(each.change.kind)))
    )
