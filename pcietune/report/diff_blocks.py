"""Differences that are alike, put together: eight ports with the same bit lost are one block."""

from collections.abc import Iterable
from dataclasses import dataclass

from pcietune.tune.diff.difference import Difference, Subject
from pcietune.tune.diff.fact import Change, Kind


@dataclass(frozen=True, slots=True)
class Block:
    """What is the same of several subjects.

    Attributes:
        kind: What it is about.
        changes: All of this kind that each of the subjects has.
        subjects: In order, each with what decides about it; empty where that is not asked.
    """

    kind: Kind
    changes: tuple[Change, ...]
    subjects: tuple[tuple[Subject, str], ...]


def blocks(differences: Iterable[Difference]) -> list[Block]:
    """Return the differences as blocks, in the order of their first subjects."""
    of_one: dict[tuple[Subject, Kind], list[Difference]] = {}
    for difference in differences:
        key = (difference.subject, difference.change.kind)
        of_one.setdefault(key, []).append(difference)
    alike: dict[tuple[Kind, tuple[Change, ...]], list[tuple[Subject, str]]] = {}
    for (subject, kind), several in of_one.items():
        changes = tuple(difference.change for difference in several)
        why = next((difference.by for difference in several if difference.by), "")
        alike.setdefault((kind, changes), []).append((subject, why))
    return [Block(kind, changes, tuple(subjects)) for (kind, changes), subjects in alike.items()]
